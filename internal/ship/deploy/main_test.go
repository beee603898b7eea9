package deploy_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more tests in parallel than there are processors: tests spend most of their time waiting, especially for
// clusters to delete namespaces.
func TestMain(m *testing.M) {
	if dir := os.Getenv(deploysProject); dir != "" {
		deployUntilKilled(dir)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
