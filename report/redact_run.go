package report

// Redact takes the secrets out of everything in the run that the target, its answers or the user's options may have put
// there. The contract's own text stays as it is.
func (r *Run) Redact(rd *Redactor) {
	r.Target.Identity = rd.String(r.Target.Identity)
	r.Target.Version = rd.String(r.Target.Version)
	r.TargetNeverReady = rd.String(r.TargetNeverReady)
	r.HarnessError = rd.String(r.HarnessError)
	for i := range r.Options {
		r.Options[i].Value = rd.String(r.Options[i].Value)
	}
	rd.each(r.Scope.Selection)
	for i := range r.Clauses {
		r.Clauses[i] = r.Clauses[i].Redact(rd)
	}
}

// Redact is a copy of the result without the secrets. Whoever reports a result calls it as it is captured.
func (c ClauseResult) Redact(rd *Redactor) ClauseResult {
	c.Reason = rd.String(c.Reason)
	specs := make([]SpecResult, len(c.Specs))
	for i, s := range c.Specs {
		s.Name, s.Reason = rd.String(s.Name), rd.String(s.Reason)
		if s.Failure != nil {
			f := *s.Failure
			f.Did, f.Got, f.Message, f.Location = rd.String(f.Did), rd.String(f.Got), rd.String(f.Message), rd.String(f.Location)
			f.Want = append([]string(nil), f.Want...)
			rd.each(f.Want)
			s.Failure = &f
		}
		specs[i] = s
	}
	if c.Specs != nil {
		c.Specs = specs
	}
	return c
}

func (r *Redactor) each(texts []string) {
	for i := range texts {
		texts[i] = r.String(texts[i])
	}
}
