package serve

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	timing.poll = 20 * time.Millisecond
	os.Exit(m.Run())
}
