// Package report formats the results of `operon prove` for people and programs.
//
// A [Report] contains all results. Everything else is a function of it:
//
//	Text    the verdict on a terminal: each finding in a few lines, and a summary
//	HTML    a page in one file: the findings with a timeline each, and all test cases
//	JSON    the report itself
//	JUnit   a test case for each test case, for CI systems
//	SARIF   a result for each finding, for code scanning
//
// A [Progress] reports the progress of a running session.
//
// The contents come from a cluster and are not trusted: each output escapes them. No output contains the values of Secrets: each passes
// [Redact] first.
package report
