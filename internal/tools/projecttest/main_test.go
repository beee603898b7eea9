package projecttest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/operon-framework/operon/internal/tools/projecttest"
	"github.com/operon-framework/operon/internal/tools/up"
)

// asTest makes the test binary test the project in a directory, in the cluster of a kubeconfig.
const asTest = "PROJECTTEST_DIRECTORY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asTest); dir != "" {
		_, err := projecttest.Run(context.Background(), projecttest.Options{Dir: dir, Where: up.Where{Kubeconfig: os.Getenv("KUBECONFIG")}})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // they spend most of their time waiting
		panic(err)
	}
	projecttest.HurryCollection()
	os.Exit(m.Run())
}
