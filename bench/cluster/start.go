package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/operon-framework/operon/bench/internal/report"
)

// settle is how long both are idle before their memory is measured: by then, memory that was needed only for the start has been
// returned to the operating system, or will not be.
const settle = 3 * time.Second

// start measures the time from nothing to ready. For envtest, ready means that an API server responds. For Operon, it means
// that the API server, the controllers and a scheduler work, with a node that can run pods.
func start(ctx context.Context, b *bench) error {
	var ours, theirs life
	for round := range b.rounds {
		progress("  round %d of %d", round+1, b.rounds)
		if err := b.envtest(ctx, &theirs); err != nil {
			return fmt.Errorf("envtest: %w", err)
		}
		if err := b.operon(ctx, &ours); err != nil {
			return fmt.Errorf("operon-cluster: %w", err)
		}
	}
	b.table = append(b.table,
		report.AtMost("start to ready", ours.start, theirs.start, report.Seconds, 0.5),
		report.AtMost("memory at rest (resident)", ours.memory, theirs.memory, report.Megabytes, 0.8),
		report.AtMost("memory at its peak (resident)", ours.peak, theirs.peak, report.Megabytes, 0),
		report.AtMost("CPU for the start", ours.cpu, theirs.cpu, report.Seconds, 0),
		report.Figure{Name: "first Deployment's pod Ready, after start", Operon: report.Seconds(report.Median(ours.pod)), Peer: "never", Met: report.None},
		report.AtMost("stop", ours.down, theirs.down, report.Seconds, 0),
		report.Within("operon cluster down", ours.down, time.Second),
	)
	return nil
}

// life contains the measurements of one contender, with one value for each round.
type life struct {
	start, pod, cpu, down []time.Duration
	memory, peak          []int64
}

func (l *life) rested(ctx context.Context, pids ...int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
	}
	var memory, peak int64
	var cpu time.Duration
	for _, pid := range pids {
		p, err := report.Usage(pid)
		if err != nil {
			return err
		}
		memory, peak, cpu = memory+p.Resident, peak+p.Peak, cpu+p.CPU
	}
	l.memory, l.peak, l.cpu = append(l.memory, memory), append(l.peak, peak), append(l.cpu, cpu)
	return nil
}

func (b *bench) envtest(ctx context.Context, l *life) error {
	peer, err := b.startPeer()
	if err != nil {
		return err
	}
	l.start = append(l.start, peer.start)
	if err := l.rested(ctx, peer.pids...); err != nil {
		return errors.Join(err, peer.env.Stop())
	}
	began := time.Now()
	err = peer.env.Stop()
	l.down = append(l.down, time.Since(began))
	return err
}

// peer is a running envtest.
type peer struct {
	env    *envtest.Environment
	config *rest.Config
	pids   []int
	start  time.Duration
}

func (b *bench) startPeer() (p peer, err error) {
	before, err := children()
	if err != nil {
		return peer{}, err
	}
	p.env = &envtest.Environment{}
	p.env.ControlPlane.GetAPIServer().Path = b.home.Path(kubeAPIServer)
	p.env.ControlPlane.Etcd = &envtest.Etcd{Path: b.home.Path(etcd)}
	began := time.Now()
	if p.config, err = p.env.Start(); err != nil {
		return peer{}, err
	}
	p.start, p.config.QPS = time.Since(began), -1
	after, err := children()
	if err != nil {
		return peer{}, errors.Join(err, p.env.Stop())
	}
	p.pids = slices.DeleteFunc(after, func(pid int) bool { return slices.Contains(before, pid) })
	if len(p.pids) != 2 {
		return peer{}, errors.Join(fmt.Errorf("%d processes were started, want etcd and kube-apiserver", len(p.pids)), p.env.Stop())
	}
	return p, nil
}

func (b *bench) operon(ctx context.Context, l *life) error {
	began := time.Now()
	pid, c, err := b.home.Up(ctx)
	if err != nil {
		return err
	}
	l.start = append(l.start, time.Since(began))
	if err := l.rested(ctx, pid); err != nil {
		return err
	}
	began = time.Now()
	if err := firstPod(ctx, c); err != nil {
		return err
	}
	l.pod = append(l.pod, time.Since(began))
	began = time.Now()
	err = b.cluster(ctx, "down")
	l.down = append(l.down, time.Since(began))
	return err
}

// firstPod creates a Deployment and waits until its pod is Ready.
func firstPod(ctx context.Context, c client.WithWatch) error {
	watch, err := c.Watch(ctx, &corev1.PodList{}, client.InNamespace(metav1.NamespaceDefault))
	if err != nil {
		return err
	}
	defer watch.Stop()
	if err := c.Create(ctx, deployment("first")); err != nil {
		return err
	}
	for event := range watch.ResultChan() {
		if event.Type == apiwatch.Error {
			return apierrors.FromObject(event.Object)
		}
		if pod, ok := event.Object.(*corev1.Pod); ok && ready(pod) {
			return nil
		}
	}
	return errors.Join(errors.New("the watch of pods ended before one was ready"), ctx.Err())
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// deployment returns a Deployment with a single pod.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/web:1"}}},
			},
		},
	}
}

// children returns the processes that any thread of this process has started.
func children() ([]int, error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return nil, err
		}
		for field := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
