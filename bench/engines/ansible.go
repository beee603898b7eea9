package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// measureAnsible measures the first runs, steady objects, a restart, and edits.
func measureAnsible(ctx context.Context, w *world) (*measurement, error) {
	m := &measurement{}
	if err := errors.Join(w.fill(ctx, 0, w.objects), w.start(ctx)); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.await(ctx, "Successful", w.objects); err != nil {
		return nil, err
	}
	m.ready = time.Since(began)
	var err error
	if m.readyCPU, err = treeCPU(w.process.Process.Pid); err != nil {
		return nil, err
	}
	for i := range w.edits {
		took, err := w.edit(ctx, i)
		if err != nil {
			return nil, err
		}
		m.edits = append(m.edits, took)
	}
	if err := w.restart(ctx); err != nil {
		return nil, err
	}
	if err := w.settle(ctx); err != nil {
		return nil, err
	}
	if m.again, err = treeCPU(w.process.Process.Pid); err != nil {
		return nil, err
	}
	if w.name == peerName {
		m.memory, err = treeMemory(w.process.Process.Pid)
		return m, err
	}
	if err := w.fill(ctx, w.objects, w.steady); err != nil {
		return nil, err
	}
	if err := errors.Join(w.await(ctx, "Successful", w.steady), w.settle(ctx)); err != nil {
		return nil, err
	}
	return m, m.rest(ctx, w)
}

// edit changes the spec of an object, and returns the time until its ConfigMap has changed.
func (w *world) edit(ctx context.Context, i int) (time.Duration, error) {
	object, text := newObject(i), fmt.Sprintf("edit %d", i)
	watch, err := w.Client.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(metav1.NamespaceDefault))
	if err != nil {
		return 0, err
	}
	defer watch.Stop()
	began := time.Now()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"message": text}})
	if err != nil {
		return 0, err
	}
	if err := w.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return 0, err
	}
	for event := range watch.ResultChan() {
		if made, ok := event.Object.(*corev1.ConfigMap); ok && made.Name == object.GetName() && made.Data["message"] == text {
			return time.Since(began), nil
		}
	}
	return 0, fmt.Errorf("the watch ended before the ConfigMap of %s changed", object.GetName())
}

// playbooks is an operator that starts ansible-playbook for each reconcile.
type playbooks struct {
	client.Client
	settings
}

// runAnsible runs the peer of the Ansible engine.
func runAnsible(ctx context.Context, s settings) error {
	m, err := newManager(s)
	if err != nil {
		return err
	}
	p := &playbooks{m.GetClient(), s}
	err = ctrl.NewControllerManagedBy(m).For(newObject(0)).WithEventFilter(changedGeneration).
		WithOptions(controller.Options{MaxConcurrentReconciles: runtime.NumCPU()}).Complete(p)
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

// Reconcile implements reconcile.Reconciler.
func (p *playbooks) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := newObject(0)
	if err := p.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := p.report(ctx, object, "Running"); err != nil {
		return ctrl.Result{}, err
	}
	dir, err := os.MkdirTemp("", "operon-bench-run-")
	if err != nil {
		return ctrl.Result{}, err
	}
	defer os.RemoveAll(dir)
	if err := p.play(ctx, dir, object); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: timing.period}, p.report(ctx, object, "Successful")
}

// play runs the role for an object.
func (p *playbooks) play(ctx context.Context, dir string, object *unstructured.Unstructured) error {
	spec, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return err
	}
	vars := map[string]any{"ansible_operator_meta": map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()}}
	for name, value := range spec {
		vars[name] = value
	}
	extra, err := json.Marshal(vars)
	if err != nil {
		return err
	}
	files := map[string]string{
		"vars.json": string(extra), "hosts": "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}\n",
		"playbook.yml": "- hosts: localhost\n  roles: [stand]\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	command := exec.CommandContext(ctx, "ansible-playbook", "-vv", "-i", filepath.Join(dir, "hosts"), "-e", "@"+filepath.Join(dir, "vars.json"), filepath.Join(dir, "playbook.yml"))
	command.Env = append(os.Environ(), "K8S_AUTH_KUBECONFIG="+p.kubeconfig, "ANSIBLE_ROLES_PATH="+filepath.Join(p.files, "roles"))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}

// report writes a condition.
func (p *playbooks) report(ctx context.Context, object *unstructured.Unstructured, condition string) error {
	return reportCondition(ctx, p.Client, object, condition)
}
