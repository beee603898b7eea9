// Package testing contains code that the tests of several packages share: a kind to manage, scenario files, copies of projects,
// and a stress test for shards.
//
// Its packages import any layer below the tools. Only tests and benchmarks import them.
package testing
