package sidecar_test

import (
	"testing"

	"github.com/browser-sidecar/conformance/lab"
	contract "github.com/browser-sidecar/conformance/spec/sidecar"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/suites/sidecar"
)

// Every clause has a spec or stands in pending.txt, none has both, and no spec names a clause that isn't there.
func TestEveryClauseIsProvedOrPending(t *testing.T) {
	c, err := contract.Contract()
	if err != nil {
		t.Fatal(err)
	}
	suite, err := engine.New(c, func() { sidecar.Register(&lab.Lab{}) })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckCoverage(suite.Proved()); err != nil {
		t.Error(err)
	}
}
