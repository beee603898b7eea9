// Package report reports the results of `operon prove` to people and programs.
//
// A [Report] is all that there is to say. Everything else is a function of it:
//
//	Text    the verdict on a terminal: each finding in a few lines, and a summary
//	HTML    a page in one file: the findings with a timeline each, and all plans
//	JSON    the report itself
//	JUnit   a test case for each plan, for CI systems
//	SARIF   a result for each finding, for code scanning
//
// A [Progress] says meanwhile how far the work is.
//
// What is reported comes from a cluster, and is not to be trusted: each output escapes it. The
// values of Secrets are in none of them: each output goes through [Redact] first.
package report
