package journal

import "time"

// timing holds the durations of this package.
var timing = struct{ retryFirst, retryMax time.Duration }{
	// retryFirst and retryMax bound the exponential backoff of a step that failed.
	retryFirst: time.Second,
	retryMax:   5 * time.Minute,
}
