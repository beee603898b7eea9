package localtest_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more tests in parallel than there are processors: tests spend most of their time waiting, especially
// for clusters to delete namespaces.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
