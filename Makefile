# The two commands of the README, `make conformance` and `make test`, set a fresh Debian machine up by themselves.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE   := browser-sidecar:dev
LAB     := browser-sidecar-conformance:dev
# What else to tell the suite or the test runner, such as ARGS='--section egress' or ARGS='-run TestSeal'.
ARGS    ?=

GO_BUILD     := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)'
DOCKER_BUILD := docker build --quiet --network host
LINT         := .tools/golangci-lint

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: conformance
conformance: setup image ## the main job: attack the reference's image in the sealed lab, clause by clause
	bin/conformance run --target image --image $(IMAGE) --seccomp seccomp/chromium.json --out out/conformance $(ARGS)

.PHONY: test
test: setup image ## every Go test, with the race detector
	go test -race -timeout 15m ./... $(ARGS)

.PHONY: conformance-local
conformance-local: setup-local build ## the same verdict without Docker: the reference as a command in new namespaces
	bin/conformance run --target command --out out/conformance-local $(ARGS) -- bin/sidecar

.PHONY: mutants
mutants: setup-local build ## break the reference one clause at a time: the suite must notice each
	bin/conformance mutants --out out/mutants $(ARGS)

.PHONY: lint
lint: setup-lint check-drift ## linters, formatting, the import laws, drift of go.mod and generated files, shell scripts
	$(LINT) run ./...
	shellcheck hack/* .ci/run

.PHONY: build
build: ## the two static binaries, in bin/
	$(GO_BUILD) -o bin/sidecar ./cmd/sidecar
	$(GO_BUILD) -o bin/conformance ./cmd/conformance

.PHONY: image
image: setup build ## the two images: the reference's and the lab's
	@hack/base-image
	@echo 'building $(LAB) and $(IMAGE) (about a minute where Chromium is not in the cache yet)'
	@$(DOCKER_BUILD) --target conformance --tag $(LAB) . >/dev/null
	@$(DOCKER_BUILD) --target sidecar --tag $(IMAGE) . >/dev/null

.PHONY: generate
generate: ## make the generated files again
	go generate ./...

.PHONY: check-drift
check-drift: ## fail when go.mod is not tidy or a generated file is not up to date
	hack/check-drift

.PHONY: fmt
fmt: setup-lint ## format the Go code
	$(LINT) fmt ./...

.PHONY: setup
setup: ## install what is missing (on Debian as root; elsewhere say what), start Docker
	@hack/setup

.PHONY: setup-local
setup-local: ## the same without Docker
	@hack/setup local

.PHONY: setup-lint
setup-lint: ## shellcheck, and golangci-lint in .tools/
	@hack/setup lint

.PHONY: clean
clean: ## remove what was built and written: bin/ and out/
	rm -rf bin out
