package main

import (
	"fmt"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/spec"
	contracts "github.com/browser-sidecar/conformance/spec/sidecar"
	"github.com/browser-sidecar/conformance/suites/engine"
	suite "github.com/browser-sidecar/conformance/suites/sidecar"
)

// loadContract reads the contract and registers its specs for the given lab; an empty one will do to list them.
func loadContract(l *lab.Lab) (*spec.Contract, *engine.Suite, error) {
	contract, err := contracts.Contract()
	if err != nil {
		return nil, nil, failure{fmt.Errorf("reading the contract: %w", err)}
	}
	specs, err := engine.New(contract, func() { suite.Register(l) })
	if err != nil {
		return nil, nil, failure{fmt.Errorf("reading the suite: %w", err)}
	}
	return contract, specs, nil
}
