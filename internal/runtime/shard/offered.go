package shard

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// nonsense is a selection that no API server can make sense of.
const nonsense = "no selection"

// offered tells whether the API server selects objects by ranges of hashes. One that does refuses a
// selection that makes no sense; one that does not never looks at it. (Lists of custom resources
// do not tell by what they were selected.)
func (m *Member) offered(ctx context.Context, all toolscache.ListerWatcherWithContext) (bool, error) {
	_, err := all.ListWithContext(ctx, metav1.ListOptions{Limit: 1, ShardSelector: nonsense})
	if err != nil && strings.Contains(err.Error(), "shard selector") {
		return true, nil
	}
	return false, err
}
