package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/internal/core/plan"
)

// ReasonReleaseTooLarge is the reason of the Ready condition if a release does not fit into a Secret.
const ReasonReleaseTooLarge = "ReleaseTooLarge"

// ReasonReleaseInUse is the reason of the Ready condition if Helm has a release of another chart with the object's name.
const ReasonReleaseInUse = "ReleaseInUse"

const reasonHistory = "ReadingHistory"

// storage stores the releases of objects in Secrets, where Helm finds them. The format is that of Helm's driver for Secrets, whose
// package cannot be imported without its SQL drivers.
type storage struct {
	// max is the number of revisions that are kept. 0 keeps all.
	max int
	now func() time.Time

	mu   sync.Mutex
	last map[types.UID]written

	// unpacking lets one release at a time take memory.
	unpacking sync.Mutex
}

const (
	defaultHistory   = 10 // as of helm upgrade --history-max
	releaseType      = "helm.sh/release.v1"
	releaseKey       = "release"
	digestAnnotation = "operon.dev/release-digest"
)

// Labels of release Secrets.
const (
	labelOwner    = "owner"
	labelName     = "name"
	labelStatus   = "status"
	labelVersion  = "version"
	labelCreated  = "createdAt"
	labelModified = "modifiedAt"
)

// readStorage reads the fields storage and maxHistory. It returns nil if releases are not stored.
func readStorage(w *engine.Watch) (*storage, error) {
	kind, most := "none", defaultHistory
	if err := w.Decode("storage", &kind); err != nil {
		return nil, err
	}
	if err := w.Decode("maxHistory", &most); err != nil {
		return nil, err
	}
	switch {
	case kind != "none" && kind != "secret":
		return nil, w.Errorf("storage", "storage: %q is neither secret nor none", kind)
	case most < 0:
		return nil, w.Errorf("maxHistory", "maxHistory: %d is negative: set a number of revisions, or 0 to keep all", most)
	case kind == "none":
		return nil, nil
	}
	return &storage{max: most, now: time.Now, last: map[types.UID]written{}}, nil
}

// Stores reports whether the releases of a kind are stored in Secrets, which needs permission to manage them.
func Stores(w *engine.Watch) (bool, error) {
	s, err := readStorage(w)
	return s != nil, err
}

// stored is a revision of a release in the cluster.
type stored struct {
	version int64
	secret  *corev1.Secret
}

func (s stored) status() common.Status { return common.Status(s.secret.Labels[labelStatus]) }

// history returns the stored revisions of an object, the newest first. Those that this engine wrote are read through a watch that selects
// nothing else. Those of Helm are read one by one, until they become children.
func (c *composer) history(ctx context.Context, object *engine.Object, reader Reader) ([]stored, error) {
	list := &corev1.SecretList{}
	if err := reader.List(ctx, list, client.MatchingLabels{labelOwner: "helm", labelName: object.Name, plan.OwnerLabel: string(object.UID)}); err != nil {
		return nil, fmt.Errorf("list the release Secrets: %w", err)
	}
	var all []stored
	for i := range list.Items {
		if version := versionOf(object, &list.Items[i]); version > 0 {
			all = append(all, stored{version, &list.Items[i]})
		}
	}
	others, err := releaseSecrets(ctx, object, reader)
	if err != nil {
		return nil, err
	}
	for i := range others {
		version := versionOf(object, &others[i])
		if version == 0 || others[i].Labels[plan.OwnerLabel] != "" || slices.ContainsFunc(all, func(s stored) bool { return s.version == version }) {
			continue
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: others[i].Name}}
		found, err := reader.Get(ctx, secret)
		if err != nil {
			return nil, fmt.Errorf("read the release Secret %s: %w", others[i].Name, err)
		}
		if found && secret.Type == releaseType {
			all = append(all, stored{version, secret})
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Compare(b.version, a.version) })
	return all, nil
}

// releaseSecrets returns the metadata of the release Secrets with the name of an object, without those of other objects.
func releaseSecrets(ctx context.Context, object *engine.Object, reader Reader) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := reader.List(ctx, list, client.MatchingLabels{labelOwner: "helm", labelName: object.Name}); err != nil {
		return nil, fmt.Errorf("list the release Secrets: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(secret metav1.PartialObjectMetadata) bool {
		owner := secret.Labels[plan.OwnerLabel]
		return owner != "" && owner != string(object.UID)
	}), nil
}

// versionOf returns the revision that a Secret stores, or 0 if it is not a release of the object.
func versionOf(object *engine.Object, secret metav1.Object) int64 {
	version, err := strconv.ParseInt(secret.GetLabels()[labelVersion], 10, 64)
	if err != nil || version <= 0 || secret.GetName() != secretName(object, version) {
		return 0
	}
	return version
}

func secretName(object *engine.Object, version int64) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", object.Name, version)
}

// store declares the release Secrets of an object, if releases are stored. It returns false if it cannot do so yet.
func (c *composer) store(ctx context.Context, object *engine.Object, p *pass, out *operon.Composition) (bool, error) {
	if c.storage == nil {
		return true, nil
	}
	history, err := c.history(ctx, object, out)
	if err != nil {
		return false, err
	}
	if err := c.sameChart(object, history); err != nil {
		return false, err
	}
	if left := c.storage.hidden(object, history); left > 0 {
		out.Wait(reasonHistory, "waits until the cache has the release Secrets that were written last")
		out.RequeueAfter(left)
		return false, nil
	}
	p.declared = map[string]string{}
	for secret, err := range c.storage.secrets(object, c.chart, p.rendered, history) {
		if err != nil {
			return false, err
		}
		p.declared[secret.Name] = secret.Labels[labelStatus]
		out.Child(secret, operon.Adopt())
	}
	return true, nil
}

// sameChart returns an error if the name of a new object is that of a release of another chart, which Helm would refuse, too.
func (c *composer) sameChart(object *engine.Object, history []stored) error {
	if object.Status.DeployedRelease != nil || len(history) == 0 {
		return nil
	}
	name := history[0].secret.Name
	newest, err := c.storage.summary(history[0].secret)
	switch {
	case errors.Is(err, errTooLarge):
		return operon.TerminalError(ReasonReleaseTooLarge, fmt.Errorf("the chart of the release Secret %s cannot be checked: %w: choose another name for the object, or delete the Secret", name, err))
	case err != nil || newest.chart() == "" || newest.chart() == c.chart.Name():
		return nil //nolint:nilerr // a Secret that cannot be read is replaced
	}
	return operon.TerminalError(ReasonReleaseInUse, fmt.Errorf("the namespace has a release %s of the chart %s: choose another name for the object, or uninstall that release", object.Name, newest.chart()))
}

// written are the release Secrets that the last reconcile wrote, with their statuses.
type written struct {
	at       time.Time
	statuses map[string]string
}

// wrote remembers the release Secrets that were written.
func (s *storage) wrote(object *engine.Object, statuses map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(_ types.UID, w written) bool { return s.now().Sub(w.at) > timing.hidden })
	s.last[object.UID] = written{s.now(), statuses}
}

// hidden returns how long to wait if the history lacks what was written last, because the cache is behind: an older revision would be
// declared again, and one that is missing be deleted. After that time, someone else has changed it.
func (s *storage) hidden(object *engine.Object, history []stored) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[object.UID]
	for name, status := range last.statuses {
		if !slices.ContainsFunc(history, func(one stored) bool { return one.secret.Name == name && string(one.status()) == status }) {
			return timing.hidden - s.now().Sub(last.at)
		}
	}
	return 0
}

// secrets returns the Secret of the rendered revision, and those of earlier ones: as they are, apart from their status. Older revisions than
// the maximum are no longer declared, and therefore deleted, except the one that is deployed.
func (s *storage) secrets(object *engine.Object, chart *Chart, r *rendered, history []stored) iter.Seq2[*corev1.Secret, error] {
	return func(yield func(*corev1.Secret, error) bool) {
		status := statusOf(object, r)
		if !yield(s.current(object, chart, r, history, status)) {
			return
		}
		kept, hasDeployed := 1, status == common.StatusDeployed
		for _, one := range history {
			if one.version >= r.revision {
				continue // a failed revision that is no longer rendered
			}
			wanted := earlierStatus(object, one, status)
			last := wanted == common.StatusDeployed && !hasDeployed
			if s.max > 0 && kept >= s.max && !last {
				continue
			}
			kept, hasDeployed = kept+1, hasDeployed || last
			if !yield(s.with(one, wanted, "")) {
				return
			}
		}
	}
}

// earlierStatus returns the status of a stored revision before the rendered one. The status of the object tells which one is deployed, until
// the rendered one is.
func earlierStatus(object *engine.Object, one stored, rendered common.Status) common.Status {
	recorded := object.Status.DeployedRelease
	replaced := one.status() == common.StatusDeployed || one.status().IsPending()
	switch {
	case rendered != common.StatusDeployed && recorded != nil && recorded.Revision == one.version:
		return common.StatusDeployed
	case replaced && (rendered == common.StatusDeployed || recorded != nil && one.version < recorded.Revision):
		return common.StatusSuperseded
	}
	return one.status()
}

// statusOf returns the status of a rendered release. It is deployed when all objects have been applied.
func statusOf(object *engine.Object, r *rendered) common.Status {
	if !changed(object, r) {
		return common.StatusDeployed
	}
	failed := meta.FindStatusCondition(object.Status.Conditions, conditionFailed)
	if failed != nil && failed.Status == metav1.ConditionTrue && failed.ObservedGeneration == object.Generation {
		return common.StatusFailed
	}
	if r.revision <= 1 {
		return common.StatusPendingInstall
	}
	return common.StatusPendingUpgrade
}

// descriptions are those that Helm writes.
var descriptions = map[common.Status]string{
	common.StatusPendingInstall: "Initial install underway",
	common.StatusPendingUpgrade: "Preparing upgrade",
	common.StatusFailed:         "Not all objects could be applied",
}

// current returns the Secret of the rendered revision.
func (s *storage) current(object *engine.Object, chart *Chart, r *rendered, history []stored, status common.Status) (*corev1.Secret, error) {
	description := descriptions[status]
	if status == common.StatusDeployed {
		description = event(r.revision <= 1) + " complete"
	}
	for _, one := range history {
		if one.version == r.revision && isSame(object, one, r) {
			secret, err := s.with(one, status, description)
			if err == nil && !takenOver(object) { // until the status says so, it is the earlier operator's
				secret.Annotations = map[string]string{digestAnnotation: r.digest}
			}
			return secret, err
		}
	}
	now := s.now()
	first := now
	if len(history) > 0 {
		if oldest, err := s.summary(history[len(history)-1].secret); err == nil {
			first = oldest.firstDeployed()
		}
	}
	data, err := encode(&release.Release{
		Name: object.Name, Namespace: object.Namespace, Version: int(r.revision),
		Info:  &release.Info{FirstDeployed: first, LastDeployed: now, Status: status, Description: description, Notes: r.notes},
		Chart: chart.loaded, Config: r.values, Manifest: r.text(false), Hooks: r.hooks,
		ApplyMethod: string(release.ApplyMethodClientSideApply), // so that Helm has no conflicts with the operator
	})
	return secretOf(secretName(object, r.revision), map[string]string{
		labelOwner: "helm", labelName: object.Name, labelStatus: status.String(), labelVersion: strconv.FormatInt(r.revision, 10), labelCreated: unix(now),
	}, r.digest, data), err
}

// isSame reports whether a stored revision is the rendered one. That of an earlier operator has no digest.
func isSame(object *engine.Object, one stored, r *rendered) bool {
	digest, recorded := one.secret.Annotations[digestAnnotation], object.Status.DeployedRelease
	return digest == r.digest || takenOver(object) || digest == "" && recorded != nil && recorded.Revision == one.version && recorded.Digest == r.digest
}

// with returns the Secret of a stored revision in a status. A revision that cannot be read stays as it is.
func (s *storage) with(one stored, status common.Status, description string) (*corev1.Secret, error) {
	labels := map[string]string{}
	for _, label := range []string{labelOwner, labelName, labelStatus, labelVersion, labelCreated, labelModified} {
		if value, ok := one.secret.Labels[label]; ok {
			labels[label] = value
		}
	}
	digest := one.secret.Annotations[digestAnnotation]
	asStored := secretOf(one.secret.Name, labels, digest, one.secret.Data[releaseKey])
	if one.status() == status {
		return asStored, nil
	}
	data, err := s.restate(one.secret, status, description)
	if data == nil {
		return asStored, err
	}
	labels[labelStatus], labels[labelModified] = status.String(), unix(s.now())
	return secretOf(one.secret.Name, labels, digest, data), err
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func secretOf(name string, labels map[string]string, digest string, data []byte) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Type: releaseType, Data: map[string][]byte{releaseKey: data}}
	if digest != "" {
		secret.Annotations = map[string]string{digestAnnotation: digest}
	}
	return secret
}
