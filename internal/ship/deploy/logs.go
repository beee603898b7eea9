package deploy

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/tools/up"
)

// LogsOptions are the options of Logs.
type LogsOptions struct {
	Target
	// Follow continues until ctx ends, and includes new pods.
	Follow bool
	// Tail is the number of lines shown of each pod's log. Nil: all.
	Tail *int64
	// Since is the maximum age of the lines shown, 0 for all.
	Since time.Duration
	// Container is the container of each pod whose log is shown. The default is the operator's container.
	Container string
	// Timestamps shows the time of each line before it.
	Timestamps bool
	// Previous shows the containers before the last restart.
	Previous bool
	// Out receives the lines, each after the name of its pod; the name of the leader has a star.
	Out io.Writer
}

// maxLine is the maximum length of a log line. Each part of a longer line is shown as a line.
const maxLine = 1 << 19

// Logs prints the logs of all pods of a deployment.
func Logs(ctx context.Context, options LogsOptions) error {
	w, err := findWorkload(ctx, options.Target)
	if err != nil {
		return err
	}
	w.container = cmp.Or(options.Container, w.container)
	l := &logs{workload: w, options: options, started: time.Now(), leaders: map[string]bool{}, read: map[string]*stream{}}
	if options.Follow {
		return l.follow(ctx)
	}
	return l.once(ctx)
}

// logs is the state of one Logs.
type logs struct {
	*workload
	options LogsOptions
	started time.Time

	mu      sync.Mutex
	leaders map[string]bool
	// read holds the containers whose log is being read or was read, by pod and restart.
	read map[string]*stream
	// later means that the containers that were there at the beginning are known. Only follow uses it.
	later bool
}

// once prints the existing lines, pod after pod.
func (l *logs) once(ctx context.Context) error {
	pods, err := l.look(ctx)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return fmt.Errorf("the operator %s in namespace %s has no pods; `operon deploy` reports why", l.name, l.namespace)
	}
	var problems []error
	for _, pod := range pods {
		problems = append(problems, l.copy(ctx, pod, &stream{}))
	}
	return errors.Join(problems...)
}

// follow prints until ctx ends.
func (l *logs) follow(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx) // also ends all streams after an error of look
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		pods, err := l.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, pod := range pods {
			l.start(ctx, pod, &running)
		}
		l.later = true
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// start reads the log of a pod's container, unless it is being read already.
func (l *logs) start(ctx context.Context, pod corev1.Pod, running *sync.WaitGroup) {
	key := fmt.Sprintf("%s/%d", pod.UID, l.status(pod).RestartCount)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read[key] == nil {
		l.read[key] = &stream{whole: l.later}
	}
	one := l.read[key]
	if one.busy || one.ended && l.status(pod).State.Running == nil {
		return
	}
	one.busy = true
	running.Go(func() {
		err := l.copy(ctx, pod, one)
		l.mu.Lock()
		defer l.mu.Unlock()
		one.busy = false
		if err != nil && ctx.Err() == nil && err.Error() != one.told {
			one.told = err.Error()
			l.options.warn("%v", err)
		}
		one.ended = err == nil
	})
}

// copy prints the log of a pod.
func (l *logs) copy(ctx context.Context, pod corev1.Pod, from *stream) error {
	body, err := l.cluster.typed.CoreV1().Pods(l.namespace).GetLogs(pod.Name, l.request(from)).Stream(ctx)
	if err != nil {
		return fmt.Errorf("the log of pod %s cannot be read: %w", pod.Name, err)
	}
	defer body.Close()
	from.whole = true // if the connection breaks before the first line
	lines, reading := bufio.NewReaderSize(body, maxLine), from.reading(l.options.Timestamps)
	for {
		part, more, err := readPart(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.options.Follow {
			var fresh bool
			if part, fresh = reading.fresh(part, more); !fresh {
				continue
			}
		}
		if err := l.print(pod.Name, part); err != nil {
			return err
		}
	}
}

// request returns a request for the part of a log that was not shown yet.
func (l *logs) request(from *stream) *corev1.PodLogOptions {
	request := &corev1.PodLogOptions{
		Container: l.container, Follow: l.options.Follow, Timestamps: l.options.Follow || l.options.Timestamps, Previous: l.options.Previous,
	}
	if !from.second.IsZero() {
		request.SinceTime = &metav1.Time{Time: from.second}
		return request
	}
	if !from.whole {
		request.TailLines = l.options.Tail
	}
	if l.options.Since > 0 { // as an age, by the node's clock; nothing of a later pod is left out
		seconds := int64((l.options.Since + time.Since(l.started) + time.Second - 1) / time.Second)
		request.SinceSeconds = &seconds
	}
	return request
}

func (l *logs) print(pod, line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	mark := " "
	if l.leaders[pod] {
		mark = "*"
	}
	_, err := fmt.Fprintf(l.options.Out, "%s%s | %s\n", strings.TrimPrefix(pod, l.name+"-"), mark, line)
	return err
}

// look finds the pods, and the leaders among them.
func (l *logs) look(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := l.pods(ctx)
	if err != nil {
		return nil, err
	}
	leases, err := l.cluster.typed.CoordinationV1().Leases(l.namespace).List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsForbidden(err) { // without permission, no pod has a star
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.leaders)
	for _, pod := range pods {
		for _, lease := range leases.Items {
			if holder := lease.Spec.HolderIdentity; holder != nil && (*holder == pod.Name || strings.HasPrefix(*holder, pod.Name+"_")) {
				l.leaders[pod.Name] = true
			}
		}
	}
	return pods, nil
}

// workload is the Deployment of an operator.
type workload struct {
	cluster         *cluster
	namespace, name string
	selector        string
	// container is the operator's container. Its pods may have others.
	container string
}

// notDeployed returns the error for an operator that is not deployed. If `operon up` ran it, the error names the log.
func notDeployed(name, namespace, cluster, log string) error {
	if log != "" {
		log = "; the log of the operator that `operon up` ran is " + log
	}
	return fmt.Errorf("the operator %s is not deployed in namespace %s of %s: deploy it with `operon deploy`, or name its --namespace%s", name, namespace, cluster, log)
}

// findWorkload finds the workload of a project.
func findWorkload(ctx context.Context, target Target) (*workload, error) {
	name, namespace, err := target.names()
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, target.Where)
	if err != nil {
		return nil, err
	}
	deployment, err := c.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, notDeployed(name, namespace, c.Title, up.LogOf(target.Dir))
	}
	if err != nil {
		return nil, err
	}
	containers := deployment.Spec.Template.Spec.Containers // the API server requires at least one
	return &workload{c, namespace, name, metav1.FormatLabelSelector(deployment.Spec.Selector), containers[0].Name}, nil
}

// pods returns the operator's pods, ordered by name.
func (w *workload) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := w.cluster.typed.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: w.selector})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// status returns the status of the operator's container in a pod, or an empty status if there is none yet.
func (w *workload) status(pod corev1.Pod) corev1.ContainerStatus {
	at := slices.IndexFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == w.container })
	if at < 0 {
		return corev1.ContainerStatus{}
	}
	return pod.Status.ContainerStatuses[at]
}
