package testaid

import "testing"

// Slow skips a test that takes minutes if -short is set, as `make test` does. `make slow` runs these tests, and so does the gate unless the rest has
// taken too long. The reason says what takes the time, and which tests look for the same mistakes otherwise.
func Slow(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short: " + why)
	}
}
