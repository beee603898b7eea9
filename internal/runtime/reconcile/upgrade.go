package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/operatorversion"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// ReasonNewerVersion: a newer version of the operator took care of the object last.
const ReasonNewerVersion = "NewerVersion"

// DowngradeAnnotation names the newer version of the operator from whose hands an object is to be
// taken by an older one.
const DowngradeAnnotation = "operon.dev/downgrade-from"

// Upgrader is a composer that has something to do once for each object that an older version of
// the operator took care of last: to move what the older one kept elsewhere, for instance.
type Upgrader[T client.Object] interface {
	// Upgrade runs before Compose. While it returns an error it is called again, and nothing else is
	// done for the object. It is called again, too, where the operator is killed before the object's
	// status tells of it: what it does must come to the same when it is done twice, and what it makes
	// can be found again by from.Key. Several steps that are each to be done once belong into Worker.
	Upgrade(ctx context.Context, object T, from *Upgrading) error
}

// Upgrading is what an upgrader is given.
type Upgrading struct {
	// From is the version of the operator that took care of the object last; empty where it named
	// none. To is this one's.
	From, To string
	// Key is the same whenever the object is upgraded from that version, by whichever process or later
	// version, until that is recorded; and no other object's: 32 hexadecimal digits. What is made under it is
	// found again by who does the upgrade again.
	Key string
	// Client reads and writes without a cache.
	Client client.Client
}

// Before tells whether the object was last taken care of by an operator older than a version.
func (u *Upgrading) Before(version string) bool { return operatorversion.Before(u.From, version) }

// upgradeKey is that of all attempts to upgrade an object from a version.
func upgradeKey(object client.Object, from string) string {
	sum := sha256.Sum256([]byte("upgrade\x00" + string(object.GetUID()) + "\x00" + from))
	return hex.EncodeToString(sum[:16])
}

// upgrade lets the author upgrade an object of an older operator. One of a newer operator is left
// alone: what that has upgraded, this one may not understand.
func (r *Reconciler[T]) upgrade(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if r.Version == "" {
		return outcome.Done(), nil
	}
	record, verdict, err := r.judge(p)
	if err != nil {
		return outcome.Done(), err
	}
	switch upgrader, upgrades := any(r.Composer).(Upgrader[T]); {
	case verdict == operatorversion.Newer || verdict == operatorversion.Unreadable:
		return r.leaveAlone(ctx, p, record)
	case verdict == operatorversion.Older && upgrades:
		from := &Upgrading{From: record.Version, To: r.Version, Key: upgradeKey(p.object, record.Version), Client: r.Direct}
		if err := upgrader.Upgrade(ctx, p.object, from); err != nil {
			return outcome.Done(), err
		}
		p.upgraded = true
		p.normal("Upgraded", "Upgrade", "upgraded from %s to %s", orUnknown(record.Version), r.Version)
	}
	p.fit = true
	return outcome.Done(), nil
}

// judge tells what the object is to this version of the operator.
func (r *Reconciler[T]) judge(p *pass[T]) (operatorversion.Record, operatorversion.Verdict, error) {
	conditions, err := condition.Of(p.object)
	if err != nil {
		return operatorversion.Record{}, "", err
	}
	record := conditions.Release()
	verdict := operatorversion.Judge(record, r.Version)
	if record.Version != "" && p.object.GetAnnotations()[DowngradeAnnotation] == record.Version && verdict != operatorversion.Older {
		verdict, p.downgraded = operatorversion.Current, verdict == operatorversion.Newer || verdict == operatorversion.Unreadable
	}
	return record, verdict, nil
}

func orUnknown(version string) string {
	if version == "" {
		return "a version that named itself not"
	}
	return version
}

// leaveAlone ends the pass of an object of a newer operator, and says so.
func (r *Reconciler[T]) leaveAlone(ctx context.Context, p *pass[T], record operatorversion.Record) (outcome.Outcome, error) {
	stalled := newerVersion(record.Version, r.Version)
	conditions, err := condition.Of(p.object)
	if err != nil {
		return outcome.Done(), err
	}
	before := conditions.Ready()
	conditions.Report(stalled, p.object.GetGeneration(), r.Clock.Now())
	p.outcomes = append(p.outcomes, stalled)
	p.tellReadiness(before, conditions.Ready())
	r.sendEvents(p)
	p.over = true
	return outcome.Done(), r.writeStatus(ctx, p)
}

func newerVersion(recorded, own string) outcome.Outcome {
	return outcome.Stalled(ReasonNewerVersion, fmt.Sprintf(
		"version %s of the operator took care of this object last, which is newer than this one, %s: nothing is done; run that version, or let this one take the object by the annotation %s=%s",
		recorded, own, DowngradeAnnotation, recorded))
}

// recordRelease writes which version takes care of the object: where something was upgraded, or is
// written anyway.
func (r *Reconciler[T]) recordRelease(p *pass[T], conditions condition.Status) {
	if !p.fit {
		return
	}
	record := conditions.Release()
	verdict := operatorversion.Judge(record, r.Version)
	_, upgrades := any(r.Composer).(Upgrader[T])
	written := !reflect.DeepEqual(statusOf(p.object), statusOf(p.before))
	if !p.upgraded && !p.downgraded && (verdict == operatorversion.Current || !written) {
		return
	}
	conditions.Record(operatorversion.Record{Version: r.Version, Upgrades: upgrades}, r.Clock.Now())
}

// rehearseUpgrade shows no plan for an object of a newer operator.
func (r *Reconciler[T]) rehearseUpgrade(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	if r.Version == "" {
		return outcome.Done(), nil
	}
	record, verdict, err := r.judge(p)
	if verdict == operatorversion.Newer || verdict == operatorversion.Unreadable {
		return newerVersion(record.Version, r.Version), err
	}
	return outcome.Done(), err
}
