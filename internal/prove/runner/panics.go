package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"regexp"
	"runtime/pprof"
	"strings"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// labelKey is the key of the profiler label that identifies the goroutines of a Function. Goroutines inherit it from those that start
// them. The contexts of a manager's controllers are not derived from the context that the manager is started with, so a value in it
// would not reach them.
const labelKey = "operon-prove-instance"

// functions contains the logs of running functions, by label.
var functions sync.Map

// labeled runs a function whose recovered panics are written to a log.
func labeled(ctx context.Context, log io.Writer, do func(context.Context)) {
	handlePanics()
	label := rand.Text()
	functions.Store(label, log)
	defer functions.Delete(label)
	pprof.Do(ctx, pprof.Labels(labelKey, label), do)
}

// handlePanics writes panics that a framework recovers to the log of the function in whose goroutine they happened. controller-runtime,
// apimachinery and Operon call these handlers.
var handlePanics = sync.OnceFunc(func() {
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, cause any) {
		panicking.Lock()
		defer panicking.Unlock()
		if log, ok := functions.Load(ownLabel()); ok {
			fmt.Fprintf(log.(io.Writer), "Observed a panic: %v\n", cause)
		}
	})
})

// panicking ensures that only one goroutine at a time is in ownLabel.
var panicking sync.Mutex

var labelValue = regexp.MustCompile(`"` + labelKey + `":"([A-Z0-9]+)"`)

// ownLabel returns the label of the calling goroutine, or "". Only profiles show labels.
func ownLabel() string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return ""
	}
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		if found := labelValue.FindStringSubmatch(group); found != nil && strings.Contains(group, "runner.ownLabel+") {
			return found[1]
		}
	}
	return ""
}
