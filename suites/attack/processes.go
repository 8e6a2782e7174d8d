package attack

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
)

// GoneWithin bounds the end of what a sidecar has started, from its own end on (contract: cli.no-orphans).
const GoneWithin = 5 * time.Second

// Gone wants every process that was started since a census to be gone soon.
func Gone(ctx context.Context, before lab.Census, after string) {
	ginkgo.GinkgoHelper()
	Eventually(ctx, before.Newcomers).WithTimeout(GoneWithin).WithPolling(20*time.Millisecond).
		Should(BeEmpty(), "processes that are left after %s", after)
}
