// Package report turns what the specs of a run found into a verdict, keeps the evidence, and writes and reads reports.
//
// It knows contracts, sections and profiles only as text that the runner fills in. Data flows one way: spec results are
// combined into clause results, clause results into counts, scope and verdict ([Run.Finish]), and the finished run is
// written as JSON (the source of truth, with a published schema), JUnit and console lines.
package report
