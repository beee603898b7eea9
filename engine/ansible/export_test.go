package ansible

import "time"

// SlowRetries makes runs that failed wait longer than any test.
func SlowRetries(e *Engine) *Engine {
	e.firstRetry = time.Hour
	return e
}
