// Package boxtest runs operators of Boxes in a real cluster, for the tests of the runtime. A [Fixture] is a namespace in which a test
// creates Boxes, runs operators with the test's composers, records their requests, and waits for conditions.
//
// Only tests import it, from packages with the suffix _test, because it imports the root package and thereby the whole runtime.
package boxtest
