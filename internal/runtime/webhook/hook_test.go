package webhook_test

import (
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/runtime/webhook"
)

func TestTimeoutsAreWholeSeconds(t *testing.T) {
	t.Parallel()
	for timeout, fits := range map[time.Duration]bool{
		0: true, time.Second: true, 30 * time.Second: true,
		time.Millisecond: false, 31 * time.Second: false, 1500 * time.Millisecond: false, -time.Second: false,
	} {
		if err := (webhook.Options{Timeout: timeout}).Check(); (err == nil) != fits {
			t.Errorf("%s: %v", timeout, err)
		}
	}
}
