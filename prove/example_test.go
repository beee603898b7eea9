package prove_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/prove"
)

// boxes is your composer.
type boxes struct{}

func (boxes) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

// A test of an operator's reliability. It fails with each finding.
func ExampleRun() {
	var t *testing.T // the parameter of your test
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return operon.Run(ctx, "box-operator", config, operon.Config{Namespace: namespace},
				operon.API(box.AddToScheme), operon.Manage(boxes{}))
		},
	})
}

// A program that tests the operator of a project, as `operon prove` does, and writes a report.
func ExampleProve() {
	if err := proveProject(context.Background(), "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func proveProject(ctx context.Context, dir string) (err error) {
	temporary, remove, err := prove.Folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	target := prove.Target{Dir: dir}
	options, err := target.Load(ctx, temporary, nil)
	if err != nil {
		return err
	}
	config, stop, err := prove.StartCluster(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	options.Config, options.Disposable, options.Budget = config, true, time.Minute
	report, err := prove.Prove(ctx, options)
	if err != nil {
		return err
	}
	fmt.Println(len(report.Findings), "findings")
	_, err = prove.Write(prove.Output, report, target, options)
	return err
}
