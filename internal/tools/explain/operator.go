package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/tools/up"
)

// defaultEndpoint is the debug endpoint of an operator that was started manually.
const defaultEndpoint = "127.0.0.1:8081"

// ask queries the operator for its reconciles of the object.
func (a *Answer) ask(ctx context.Context, server, endpoint string) {
	if endpoint == "" {
		endpoint = a.find(ctx, server)
	}
	if endpoint == "" {
		a.Lacks = append(a.Lacks, fmt.Sprintf("triggers of reconciles: no operator for %s runs on this machine; if it runs in a cluster, "+
			"use kubectl port-forward POD 8081, and --endpoint 127.0.0.1:8081", a.Kind))
		return
	}
	kind := a.Kind
	if a.Group != "" {
		kind += "." + a.Group
	}
	object, err := reconcilelog.AskObject(ctx, endpoint, kind, a.Namespace, a.Name)
	if _, refused := errors.AsType[*reconcilelog.Refused](err); refused {
		a.Lacks = append(a.Lacks, fmt.Sprintf("triggers of reconciles: %v", err))
		return
	}
	if err != nil {
		a.Lacks = append(a.Lacks, fmt.Sprintf("triggers of reconciles: the operator at %s does not answer: %v", endpoint, err))
		return
	}
	a.Operator, a.Passes = object.Operator, object.Passes
}

// find queries the operators that may run on this machine whether they manage the object. It returns the address of the one
// that does, or "" if none does.
func (a *Answer) find(ctx context.Context, server string) string {
	addresses, err := up.Endpoints()
	if err != nil {
		a.Lacks = append(a.Lacks, fmt.Sprintf("operators that `operon up` runs: %v", err))
	}
	for _, address := range append(addresses, defaultEndpoint) {
		operator, err := reconcilelog.AskOperator(ctx, address)
		if err == nil && operator.Server == server && a.managedBy(operator) {
			return address
		}
	}
	return ""
}

func (a *Answer) managedBy(operator reconcilelog.Operator) bool {
	return (len(operator.Namespaces) == 0 || slices.Contains(operator.Namespaces, a.Namespace)) &&
		slices.ContainsFunc(operator.Kinds, func(k reconcilelog.Kind) bool { return k.Kind == a.Kind && k.Group == a.Group })
}
