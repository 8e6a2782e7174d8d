# Two images on one base, for the classic builder too. `make image` builds the binaries, the Debian image beneath them where
# it can't be pulled, and both targets: sidecar (the reference; the default) and conformance (the suite's lab).

FROM debian:bookworm-slim AS base
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      ca-certificates chromium fonts-liberation fonts-noto-color-emoji tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log \
 && useradd --uid 10001 --user-group --create-home --shell /usr/sbin/nologin sidecar
ENV LANG=C.UTF-8

# The lab: it puts addresses on its own lo and looks into the targets that join its namespaces, so it is root in there, and
# the first process of them all: tini reaps what they leave behind.
FROM base AS conformance
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends libnss3-tools xvfb \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log
ENV HOME=/root
COPY bin/conformance /usr/local/bin/conformance
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "/usr/local/bin/conformance"]

# The reference. Its configuration comes on standard input; everything that it writes goes under the temporary directory, so
# the root may be read-only. -s lets tini reap Chromium's orphans also where it isn't process 1 (a shared PID namespace); it
# passes each signal to the sidecar and hands back the sidecar's exit code.
FROM base AS sidecar
ENV HOME=/home/sidecar
COPY bin/sidecar /usr/local/bin/sidecar
USER 10001:10001
WORKDIR /home/sidecar
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "/usr/local/bin/sidecar"]
CMD ["serve"]
