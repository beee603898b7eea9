package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/internal/testing/sharddrill"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// Tests run replicas as processes of this program. These variables make it a replica.
const (
	replicaCluster   = "OPERON_TEST_REPLICA"
	replicaNamespace = "OPERON_TEST_REPLICA_NAMESPACE"
)

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(replicaCluster); kubeconfig != "" {
		os.Exit(replica(kubeconfig, os.Getenv(replicaNamespace)))
	}
	os.Exit(m.Run())
}

// replica runs one of several processes of an operator.
func replica(kubeconfig, namespace string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err == nil {
		log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		err = operon.Run(ctx, "box-operator", cluster, operon.Config{Namespace: namespace, Shards: 12, ShardLease: boxtest.ShortLease, Log: log},
			operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies), operon.Concurrency(boxtest.Workers)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// selecting starts a cluster whose API server selects shards, and writes an audit log.
func selecting(t *testing.T, gate bool) (w *fixture, audit string) {
	t.Helper()
	folder := t.TempDir()
	policy, config := filepath.Join(folder, "policy.yaml"), filepath.Join(folder, "config.yaml")
	for file, content := range map[string]string{
		policy: sharddrill.Policy,
		config: fmt.Sprintf("auditPolicy: %s\nfeatureGates: {ShardedListAndWatch: %t}\n", policy, gate),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w = &fixture{boxtest.NewOn(t, localtest.New(t, local.Options{Config: config}))}
	return w, filepath.Join(filepath.Dir(w.Kubeconfig), "audit.log")
}

// Replicas see only their own objects, whether the API server selects them or labels do, and take over from a replica that
// stops.
func TestReplicasShareObjects(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *fixture{
		"by label": newFixture,
		"by the API server": func(t *testing.T) *fixture {
			w, _ := selecting(t, true)
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			config, unselected := selections(w.Config)
			cfg := operon.Config{Namespace: w.Namespace, Shards: 8, ShardLease: boxtest.LongLease}
			one, stop := w.RunWith(config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
			two, _ := w.RunWith(config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
			w.Even(2)
			all := w.Boxes(12)
			for _, b := range all {
				w.IsReady(b)
			}
			first, second := childWrites(one), childWrites(two)
			if len(first) == 0 || len(second) == 0 || len(first)+len(second) != len(all) {
				t.Errorf("of %d children one replica made %q and the other %q", len(all), first, second)
			}
			if name == "by the API server" {
				w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(all[0]), all[0]))
				if label := all[0].Labels[plan.ShardLabel]; label != "" {
					t.Errorf("an owner was labelled %q, where the API server selects", label)
				}
			}
			stopped := time.Now()
			stop()
			w.Spread(1)
			for _, b := range all {
				w.Change(b, func() { b.Spec.Data["made"] = "second" })
			}
			for _, b := range all {
				w.IsReady(b)
			}
			t.Logf("from the stop to the last object's readiness: %s", time.Since(stopped).Round(time.Millisecond))
			w.costsNothing(two, all)
			if got := unselected(); len(got) > 0 {
				t.Errorf("replicas read objects that may be others': %q", got)
			}
		})
	}
}

// childWrites returns the writes of a replica to child objects.
func childWrites(requests *boxtest.Traffic) []string {
	return slices.DeleteFunc(requests.All(true), func(r string) bool { return !strings.Contains(r, "/configmaps/") })
}

// costsNothing checks that reconciling objects again with nothing to do causes no request.
func (w *fixture) costsNothing(requests *boxtest.Traffic, all []*boxtest.Box) {
	w.Helper()
	w.Quiet(func() []string { return atRest(requests) })
	before := atRest(requests)
	for _, b := range all[:3] {
		w.Poke(b)
	}
	w.Still("no request", func(context.Context) error {
		if after := atRest(requests); len(after) != len(before) {
			return fmt.Errorf("requests %q", after[len(before):])
		}
		return nil
	})
}

// atRest returns the requests of an operator, except the ones for the leases of replicas.
func atRest(requests *boxtest.Traffic) []string {
	return slices.DeleteFunc(requests.All(false), func(r string) bool { return strings.Contains(r, "/leases") })
}

// Without shards, nothing for them is requested or written.
func TestWithoutShardsNothingIsPaid(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	requests, _ := w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("alone", map[string]string{"a": "b"})
	w.IsReady(b)
	for _, request := range requests.All(false) {
		if strings.Contains(request, "/leases") && !strings.HasSuffix(request, "/leases") && !strings.HasSuffix(request, "box-operator-kinds") {
			t.Errorf("request %s", request)
		}
	}
	all, err := w.Leases(t.Context())
	w.Must(err)
	if len(all) > 0 { // a create request does not contain the name
		t.Errorf("there are Leases by which replicas share: %v", all)
	}
	child := &corev1.ConfigMap{}
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(b), child))
	if _, labelled := child.Labels[plan.ShardLabel]; labelled {
		t.Error("the child is labelled")
	}
}

// An operator with one replica can be changed to shared replicas, and back: its child objects are found.
func TestSharingCanBeSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("switched", map[string]string{"a": "b"})
	w.IsReady(b)
	stop()
	_, stop = w.Share(boxtest.ComposeFunc(boxtest.Copies), 3)
	w.childLabelled(b, true)
	stop()
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	w.childLabelled(b, false)
}

func (w *fixture) childLabelled(b *boxtest.Box, want bool) {
	w.Helper()
	w.Eventually(fmt.Sprintf("label of the child's shard: %t", want), func(ctx context.Context) error {
		child := &corev1.ConfigMap{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), child); err != nil {
			return err
		}
		if _, labelled := child.Labels[plan.ShardLabel]; labelled != want {
			return fmt.Errorf("labels %v", child.Labels)
		}
		return nil
	})
}

// If users remove labels or write wrong ones, all objects are still reconciled.
func TestLabelsOfShardsAreMended(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Share(boxtest.ComposeFunc(boxtest.Copies), 4)
	b := w.Box("mended", map[string]string{"a": "b"})
	w.IsReady(b)
	right := b.Labels[plan.ShardLabel]
	if right != shardtable.BucketName(shardtable.Bucket(b.UID)) {
		t.Fatalf("the label is %q", right)
	}
	wrong := shardtable.BucketName((shardtable.Bucket(b.UID) + shardtable.Buckets/2) % shardtable.Buckets)
	for _, label := range []string{"", wrong, "nonsense"} {
		w.Change(b, func() {
			b.Labels[plan.ShardLabel] = label
			if label == "" {
				delete(b.Labels, plan.ShardLabel)
			}
		})
		w.Eventually("the label to be right", func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
				return err
			}
			if b.Labels[plan.ShardLabel] != right {
				return fmt.Errorf("it is %q", b.Labels[plan.ShardLabel])
			}
			return nil
		})
	}
}

// Missing permissions of replicas are named at the start.
func TestSharingNamesMissingPermissions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	poor := rest.CopyConfig(w.Config)
	poor.Impersonate = rest.ImpersonationConfig{UserName: "shares-nothing", Groups: []string{"system:authenticated"}}
	err := operon.Run(t.Context(), "box-operator", poor, operon.Config{Namespace: w.Namespace, Shards: 3}, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
	want := "shards: the operator may not get, list, watch, create, update, delete leases.coordination.k8s.io in namespace " + w.Namespace
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it ended with %v, want %s", err, want)
	}
}

func TestBadShardsAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for want, cfg := range map[string]operon.Config{
		"shards: -1 shards: want 1 to 64":  {Shards: -1},
		"shards: 100 shards: want 1 to 64": {Shards: 100},
		"shards: a lease of 100ms":         {Shards: 3, ShardLease: 100 * time.Millisecond},
	} {
		cfg.Namespace = w.Namespace
		err := operon.Run(t.Context(), "box-operator", w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it ended with %v, want %s", err, want)
		}
	}
}

// Replicas with different numbers of shards in their configuration use the number of the first one.
func TestReplicasAgreeOnTheNumberOfShards(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Share(boxtest.ComposeFunc(boxtest.Copies), 4)
	w.Spread(1)
	w.Share(boxtest.ComposeFunc(boxtest.Copies), 6)
	if slots := w.Spread(2).Slots(); slots != 4 {
		t.Errorf("there are %d shards, want those of the first replica", slots)
	}
}

// If a user deletes, relabels and edits the Leases of replicas, and writes an invalid table, the work continues, or the reason
// why it does not is reported.
func TestEditedLeasesAreMended(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	told := &boxtest.Lines{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the replicas said\n%s", told)
		}
	})
	cfg := operon.Config{Namespace: w.Namespace, Shards: 4, ShardLease: boxtest.ShortLease, Log: slog.New(slog.NewTextHandler(told, nil))}
	for range 2 {
		w.RunWith(w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
	}
	w.Spread(2)
	w.EditLeases(func(lease *coordinationv1.Lease) {
		delete(lease.Labels, shard.GroupLabel)
		lease.Spec.HolderIdentity = new("somebody")
	})
	w.mended()
	w.Must(w.Client.DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(w.Namespace), client.MatchingLabels{shard.GroupLabel: "box-operator"}))
	w.Spread(2)
	w.IsReady(w.Box("afterwards", map[string]string{"a": "b"}))

	garbled := &coordinationv1.Lease{ObjectMeta: w.Meta(boxtest.TableName)}
	w.Change(garbled, func() { garbled.Annotations[shard.TableAnnotation] = "0 nonsense\n2 -\n" })
	w.Eventually("a word of what is wrong", func(context.Context) error {
		if text := told.String(); !strings.Contains(text, `line 2 is \"2 -\", want 1 and a holder`) || !strings.Contains(text, "it is recreated") {
			return errors.New(text)
		}
		return nil
	})
	b := w.Box("meanwhile", map[string]string{"a": "b"})
	w.IsReady(b)
	w.Spread(2)
}

// mended waits until the Leases are restored and two replicas share the objects.
func (w *fixture) mended() {
	w.Helper()
	w.Eventually("the Leases to be as they were", func(ctx context.Context) error {
		all, err := w.Leases(ctx)
		for i := range all {
			lease := &all[i]
			if lease.Labels[shard.GroupLabel] != "box-operator" || lease.Name != boxtest.TableName && !strings.HasSuffix(lease.Name, "-"+*lease.Spec.HolderIdentity) {
				return fmt.Errorf("%s has the labels %v and the holder %v", lease.Name, lease.Labels, lease.Spec.HolderIdentity)
			}
		}
		return err
	})
	w.Spread(2)
}

// Replicas whose clocks differ by minutes can share objects: a live replica is never considered dead, and released shards are
// taken over at once.
func TestClocksOfReplicasMayDiffer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var stop func()
	for _, ahead := range []time.Duration{0, -5 * time.Minute, 5 * time.Minute} {
		cfg := operon.Config{Namespace: w.Namespace, Shards: 6, ShardLease: time.Minute, Clock: boxtest.Ahead{By: ahead}}
		_, stop = w.RunWith(w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
	}
	w.Spread(3)
	all := w.Boxes(9)
	for _, b := range all {
		w.IsReady(b)
	}
	held := w.Even(3)
	w.Still("all to keep what they have", func(ctx context.Context) error {
		now, err := w.Holders(ctx)
		if err == nil && now.String() != held.String() {
			return fmt.Errorf("it was\n%s and is\n%s", held, now)
		}
		return err
	})
	stopped := time.Now()
	stop()
	w.Spread(2)
	t.Logf("from the stop until others have everything: %s", time.Since(stopped).Round(time.Millisecond))
	for _, b := range all {
		w.Change(b, func() { b.Spec.Data["made"] = "second" })
		w.IsReady(b)
	}
}

// At least three replicas are killed, stopped, frozen and added at random while objects change. The audit log of the API server
// shows which replica wrote what, and that no object waited long.
func TestNoObjectHasTwoOwners(t *testing.T) {
	t.Parallel()
	w, audit := selecting(t, true)
	self, err := os.Executable()
	w.Must(err)
	all := w.Boxes(40)
	tables, err := sharddrill.Record(t.Context(), w.Config)
	w.Must(err)
	t.Cleanup(tables.Stop)
	play := &sharddrill.Play{
		Seed: uint64(time.Now().UnixNano()), Lease: boxtest.ShortLease, Between: 600 * time.Millisecond, Pace: 40 * time.Millisecond, Least: 3, Most: 5, Tell: t.Logf,
		Start: func() (*exec.Cmd, error) {
			command := exec.Command(self)
			command.Env = append(os.Environ(), replicaCluster+"="+w.Kubeconfig, replicaNamespace+"="+w.Namespace)
			command.Stderr = os.Stderr
			return command, command.Start()
		},
		Change: func(ctx context.Context, random *rand.Rand) error {
			b := all[random.IntN(len(all))]
			patch := fmt.Sprintf(`{"spec":{"data":{"made":"%d"}}}`, random.Int())
			return w.Client.Patch(ctx, &boxtest.Box{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}, client.RawPatch("application/merge-patch+json", []byte(patch)))
		},
	}
	t.Logf("seed %d", play.Seed)
	w.Must(play.Begin())
	t.Cleanup(func() { w.Must(play.End()) })
	var verdict sharddrill.Verdict
	for range 6 { // on a busy machine, replicas start so slowly that one run shows little
		w.Must(play.Run(t.Context(), 7*time.Second))
		play.Thaw()
		for _, b := range all {
			w.IsReady(b)
		}
		for _, b := range all {
			w.Poke(b) // shows in the audit log that the object was handled
		}
		recorded, err := tables.Read(t.Context())
		w.Must(err)
		writes, err := sharddrill.Read(audit, recorded)
		w.Must(err)
		verdict = sharddrill.Judge(writes, 3*time.Minute) // 12 s were observed on a fast machine that ran other tests
		if verdict.Replicas >= 2 && verdict.Handovers >= 6 && verdict.Writes >= 40 {
			break
		}
	}
	t.Logf("%v\n%s", play.Acts, verdict)
	if most := play.Acts["freeze"] * boxtest.Workers; len(verdict.Late) > most { // writes that were checked but not sent when a process froze
		t.Errorf("%d writes came late, want at most %d, one for each worker that froze: replicas write what is not theirs any more", len(verdict.Late), most)
	}
	if len(verdict.Two) > 0 || len(verdict.Starved) > 0 || verdict.Replicas < 2 || verdict.Handovers < 6 || verdict.Writes < 40 { // a busy machine reaches no more
		t.Errorf("seed %d, %v: %s", play.Seed, play.Acts, verdict)
	}
}
