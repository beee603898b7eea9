// Package testing contains what the tests of several packages share: a kind to manage, scenario files, copies of projects, a drill for
// shards.
//
// Its packages import any layer below the tools. Only tests and benchmarks import them.
package testing
