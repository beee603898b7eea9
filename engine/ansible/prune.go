package ansible

import (
	"cmp"
	"context"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
)

// prune deletes the children that earlier runs created and that a successful run no longer uses. It does so before the run is recorded,
// so that nothing is forgotten if the operator is killed. After a run that failed, or that asked to be repeated, all children stay.
func (c *composer) prune(ctx context.Context, session *proxy.Session, before, run *engine.Run) {
	if !c.prunes || before == nil {
		return
	}
	kept, err := session.Prune(ctx, before.Objects, run.Objects, run.Failed != "" || run.RequeueAt != nil)
	run.Objects = append(run.Objects, kept...)
	if err != nil {
		run.Failed = cmp.Or(run.Failed, err.Error())
	}
}
