// Package testing contains code that the tests of several packages share: a kind to manage and operators for it, scenario files, copies of
// projects, bundles, a registry, and a stress test for shards.
//
// Its packages import the tools and any layer below them. Only tests, benchmarks and packages for authors' tests import them.
package testing
