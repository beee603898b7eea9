// Package change approves InstallPlans, follows upgrades, and removes operators. Each change is one request, so an interrupted command leaves
// nothing half done: the manager continues, and the command can be started again.
package change

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
)

// Approve approves a plan. It returns false if it was approved before. A plan that was replaced by another one since it was read is not
// approved.
func Approve(ctx context.Context, client *kube.Client, plan *olm.InstallPlan) (bool, error) {
	if plan.Spec.Approved {
		return false, nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": plan.UID}, "spec": map[string]any{"approved": true}})
	if err != nil {
		return false, err
	}
	_, err = client.Dynamic.Resource(olm.Plans).Namespace(plan.Namespace).Patch(ctx, plan.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: client.Manager})
	switch {
	case apierrors.IsForbidden(err):
		return false, errors.New(olm.Missing("patch", olm.Plans, plan.Namespace, plan.Name))
	case err != nil:
		return false, fmt.Errorf("approve InstallPlan %s/%s: %w", plan.Namespace, plan.Name, err)
	}
	return true, nil
}

// Await waits until a version of a Subscription runs and nothing of the version before is left. It tells what it waits for whenever that
// changes. It fails at once if the plan fails, or if the plan of a dependency waits for approval. While the API server is unavailable, it
// continues to wait.
func Await(ctx context.Context, client *kube.Client, namespace, subscription, version string, tell func(string)) error {
	tick := time.NewTicker(timing.interval)
	defer tick.Stop()
	for last := ""; ; {
		done, why, err := look(ctx, client, namespace, subscription, version)
		switch {
		case ctx.Err() != nil:
			return waited(ctx, last)
		case kube.Unavailable(err):
			why = "the API server is unavailable: " + err.Error()
		case err != nil || done:
			return err
		}
		if why != last {
			tell(why)
			last = why
		}
		select {
		case <-ctx.Done():
			return waited(ctx, last)
		case <-tick.C:
		}
	}
}

// waited is the error for a wait that ended too early.
func waited(ctx context.Context, last string) error {
	return fmt.Errorf("%w; the manager continues: %s", context.Cause(ctx), last)
}

// look reports whether a version runs, and otherwise what it waits for.
func look(ctx context.Context, client *kube.Client, namespace, subscription, version string) (bool, string, error) {
	state, err := olm.Read(ctx, client, namespace)
	if err != nil {
		return false, "", err
	}
	if err := state.ReadWorkloads(ctx, client); err != nil {
		return false, "", err
	}
	of := state.Subscription(namespace, subscription)
	if of == nil {
		return false, "", fmt.Errorf("the Subscription %s/%s does not exist any more", namespace, subscription)
	}
	installed, plan := state.Installed(of), &olm.InstallPlan{}
	if ref := of.Status.InstallPlanRef; ref != nil {
		plan = cmp.Or(state.Plan(namespace, ref.Name), plan)
	}
	// One that restores objects works for the installed version. The next version has a plan, too, as soon as this one runs.
	installs := slices.Contains(plan.Spec.ClusterServiceVersionNames, version)
	complete := plan.Name == "" || plan.Status.Phase == olm.PlanComplete || !installs
	if complete && of.Status.InstalledCSV == version && installed != nil && installed.Status.Phase == olm.PhaseSucceeded {
		if old := state.Replaced(installed); old != nil {
			return false, fmt.Sprintf("%s runs; the manager deletes %s", version, old.Name), nil
		}
		return true, "", nil
	}
	about := subscription
	if plan.Name != "" && !installs && installed != nil && installed.Name == version {
		about = version // the Subscription waits for the version after it
	}
	answer, err := state.Why(about)
	if err != nil {
		return false, "", err
	}
	if installs && plan.Status.Phase == olm.PlanFailed {
		return false, "", errors.New(answer.Why)
	}
	if answer.Decides != nil && answer.Decides.Kind == "ClusterServiceVersion" && len(answer.Do) > 0 && strings.HasPrefix(answer.Do[0], "operon olm approve ") {
		return false, "", fmt.Errorf("%s; a dependency waits for approval: %s", answer.Why, strings.Join(answer.Do, ", "))
	}
	return false, answer.Why, nil
}
