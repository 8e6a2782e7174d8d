package sidecar

import (
	"strings"
	"testing"
)

func TestBindTakesNoMoreThanItIsTold(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1": "127.0.0.1", "0.0.0.0": "0.0.0.0", "::1": "::1", "::": "::", "localhost": ""} {
		ln, bound, err := bind(t.Context(), host, 0)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if bound.Port() == 0 || want != "" && bound.Addr().String() != want || want == "" && !bound.Addr().IsLoopback() {
			t.Errorf("%s: got %v", host, bound)
		}
		if _, _, err := bind(t.Context(), host, int(bound.Port())); err == nil || !strings.Contains(err.Error(), bound.String()) && want != "" {
			t.Errorf("%s: a taken port gave %v, want an error that names %v", host, err, bound)
		}
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
	}
}
