package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/operatorversion"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// ReasonNewerVersion: a newer version of the operator reconciled the object last.
const ReasonNewerVersion = "NewerVersion"

// DowngradeAnnotation names the newer version of the operator from which an older one may take over
// an object.
const DowngradeAnnotation = "operon.dev/downgrade-from"

// version is the relation of the object to this version of the operator.
type version struct {
	// fit means that this version may reconcile the object, and records that.
	fit bool
	// newer means that a newer version reconciled it last, and nothing is done.
	newer bool
	// upgraded means that this reconcile upgraded it, and downgraded that a user allowed this older version.
	upgraded, downgraded bool
}

// upgradeKey returns the key of all attempts to upgrade an object from a version.
func upgradeKey(object client.Object, from string) string {
	sum := sha256.Sum256([]byte("upgrade\x00" + string(object.GetUID()) + "\x00" + from))
	return hex.EncodeToString(sum[:16])
}

// upgrade calls the author's code to upgrade an object of an older operator. An object of a newer operator is not
// changed: this version may not understand what the newer one has upgraded.
func (r *Reconciler[T]) upgrade(ctx context.Context, p *pass[T]) (version, outcome.Outcome, error) {
	if r.Version == "" || r.WithoutStatus { // nothing records the version
		return version{}, outcome.Done(), nil
	}
	record, verdict, downgraded, err := judge(p.object.now, r.Version)
	if err != nil {
		return version{}, outcome.Done(), err
	}
	switch {
	case isNewer(verdict):
		return version{newer: true}, newerVersion(record.Version, r.Version), nil
	case verdict != operatorversion.Older || r.Roles.Upgrade == nil:
		return version{fit: true, downgraded: downgraded}, outcome.Done(), nil
	}
	from := &author.UpgradeContext{From: record.Version, To: r.Version, Key: upgradeKey(p.object.now, record.Version), Client: r.Direct}
	if err := r.Roles.Upgrade(ctx, p.object.now, from); err != nil {
		return version{}, outcome.Done(), err
	}
	p.entry.Events.Normal("Upgraded", "Upgrade", "upgraded from %s to %s", orUnknown(record.Version), r.Version)
	return version{fit: true, upgraded: true}, outcome.Done(), nil
}

// judge returns the relation of the object to this version of the operator, and whether a user allowed this older version
// to take it over.
func judge(object client.Object, own string) (record operatorversion.Record, verdict operatorversion.Verdict, downgraded bool, err error) {
	conditions, err := condition.Of(object)
	if err != nil {
		return record, "", false, err
	}
	record = conditions.Release()
	verdict = operatorversion.Judge(record, own)
	if record.Version != "" && object.GetAnnotations()[DowngradeAnnotation] == record.Version && verdict != operatorversion.Older {
		return record, operatorversion.Current, isNewer(verdict), nil
	}
	return record, verdict, false, nil
}

// isNewer reports whether an object belongs to a newer operator, as far as that can be read.
func isNewer(verdict operatorversion.Verdict) bool {
	return verdict == operatorversion.Newer || verdict == operatorversion.Unreadable
}

func orUnknown(version string) string {
	if version == "" {
		return "an unknown version"
	}
	return version
}

func newerVersion(recorded, own string) outcome.Outcome {
	return outcome.Stalled(ReasonNewerVersion, fmt.Sprintf(
		"last reconciled by operator version %s, which is newer than this one, %s; not reconciling. Run that version, or set the annotation %s=%s to downgrade",
		recorded, own, DowngradeAnnotation, recorded))
}

// record writes which version of the operator reconciles the object, and whether that version upgrades objects. It does so
// if the object was upgraded, or the status is written anyway.
func (v version) record(conditions condition.Status, own string, upgrades, written bool, now time.Time) {
	if !v.fit {
		return
	}
	verdict := operatorversion.Judge(conditions.Release(), own)
	if !v.upgraded && !v.downgraded && (verdict == operatorversion.Current || !written) {
		return
	}
	conditions.Record(operatorversion.Record{Version: own, Upgrades: upgrades}, now)
}
