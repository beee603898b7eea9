package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

// compact returns a value as JSON in one line.
func compact(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// shown is the maximum number of bytes of a value that are shown.
const shown = 2000

// short truncates a very long text, and adds how much is missing.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := limit
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:at], len(text)-at)
}

// spread returns a JSON value as lines, in YAML if it is too long for one line.
func spread(text string) []string {
	if nested := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["); nested && len(text) > oneLine {
		if laid, err := yaml.JSONToYAML([]byte(text)); err == nil {
			text = strings.TrimSuffix(string(laid), "\n")
		}
	}
	return strings.Split(terminal.Clean(short(text, shown)), "\n")
}

// oneLine is the maximum length in bytes of a value that is shown in one line.
const oneLine = 60

// took formats a duration with about three digits.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// median returns the median of some durations, or 0 if there are none.
func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	ordered := slices.Sorted(slices.Values(all))
	middle := len(ordered) / 2
	if len(ordered)%2 == 1 {
		return ordered[middle]
	}
	return (ordered[middle-1] + ordered[middle]) / 2
}
