//go:build race

package prove

func init() { raced = true }
