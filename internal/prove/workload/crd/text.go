package crd

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/resource"
)

// formats contains two values of each format that a schema may require.
var formats = map[string][]string{
	"date-time":      {"2026-01-02T03:04:05Z", "2027-02-03T04:05:06Z"},
	"date":           {"2026-01-02", "2027-02-03"},
	"duration":       {"30s", "2m0s"},
	"uri":            {"https://example.com/a", "https://example.com/b"},
	"email":          {"a@example.com", "b@example.com"},
	"hostname":       {"a.example.com", "b.example.com"},
	"ipv4":           {"192.0.2.1", "192.0.2.2"},
	"ipv6":           {"2001:db8::1", "2001:db8::2"},
	"ip":             {"192.0.2.1", "192.0.2.2"},
	"cidr":           {"192.0.2.0/24", "198.51.100.0/24"},
	"mac":            {"00:00:5e:00:53:01", "00:00:5e:00:53:02"},
	"uuid":           {"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"},
	"byte":           {"YQ==", "Yg=="},
	"hexcolor":       {"#000000", "#ffffff"},
	"k8s-short-name": {"name-a", "name-b"},
	"k8s-long-name":  {"name.a", "name.b"},
}

// textsFor returns texts that a schema is likely to allow for a field.
func textsFor(name string, of *structural.Structural) []string {
	if of.ValueValidation != nil {
		if known := formats[strings.ToLower(of.ValueValidation.Format)]; known != nil {
			return known
		}
		if pattern := of.ValueValidation.Pattern; pattern != "" {
			return matchingFirst(pattern, append(likely(name), Matching(pattern)...))
		}
		if least := value(of.ValueValidation.MinLength, 0); least > 5 && least < longest {
			return []string{strings.Repeat("a", int(least)), strings.Repeat("b", int(least))}
		}
	}
	return likely(name)
}

// matchingFirst returns texts with those first that match a pattern. A pattern that Go does not know changes nothing.
func matchingFirst(pattern string, texts []string) []string {
	matches, err := regexp.Compile(pattern)
	if err != nil {
		return texts
	}
	others := slices.DeleteFunc(slices.Clone(texts), matches.MatchString)
	return append(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !matches.MatchString(text) }), others...)
}

// likely returns texts that the name of a field suggests.
func likely(name string) []string {
	lower := strings.ToLower(name)
	for _, hint := range []struct {
		part  string
		texts []string
	}{
		{"image", []string{"example.com/other:1", "example.com/other:2"}},
		{"storageclass", []string{"standard", "other"}},
		{"version", []string{"1.2.3", "1.2.4"}},
		{"size", []string{"1Gi", "2Gi"}},
		{"storage", []string{"1Gi", "2Gi"}},
		{"memory", []string{"64Mi", "128Mi"}},
		{"cpu", []string{"100m", "200m"}},
		{"timeout", []string{"30s", "1m"}},
		{"interval", []string{"30s", "1m"}},
		{"period", []string{"30s", "1m"}},
		{"schedule", []string{"0 1 * * *", "0 2 * * *"}},
		{"url", []string{"https://example.com/a", "https://example.com/b"}},
		{"host", []string{"a.example.com", "b.example.com"}},
		{"port", []string{"8080", "8081"}},
	} {
		if strings.Contains(lower, hint.part) {
			return hint.texts
		}
	}
	return []string{"value-a", "value-b"}
}

var (
	imageWithTag = regexp.MustCompile(`^([a-z0-9.\-/]+/)?[a-z0-9.\-_]+:[A-Za-z0-9._\-]+$`)
	plainDecimal = regexp.MustCompile(`^[+-]?\d*\.\d*$`)
	cron         = regexp.MustCompile(`^([0-9*/,-]+ +){2}([0-9*/,A-Z-]+ +){2}[0-9*/,A-Z-]+$`)
	lastNumber   = regexp.MustCompile(`^(.*?)(\d+)(\D*)$`)
)

// guessed reports whether a value contains a made-up text: a text that is not in an enum of the schema, not of a format,
// not the default, and not of the same sort as the previous text.
func guessed(of *structural.Structural, value, old any) bool {
	limits := limitsOf(of)
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			property, ok := of.Properties[name]
			if elements := valuesOf(of); !ok && elements != nil {
				property, ok = *elements, true
			}
			if !ok || guessed(&property, inner, nil) {
				return true
			}
		}
		return len(value) == 0
	case []any:
		for _, inner := range value {
			if of.Items == nil || guessed(of.Items, inner, nil) {
				return true
			}
		}
	case string:
		was, _ := old.(string)
		return len(limits.Enum) == 0 && limits.Format == "" && !equal(of.Default.Object, value) && !sameSort(was, value)
	}
	return false
}

// sameSort reports whether two texts are both quantities, durations, booleans, addresses or the like, or differ only in
// their last number.
func sameSort(a, b string) bool {
	for _, is := range []func(string) bool{
		isQuantity,
		func(text string) bool { _, err := time.ParseDuration(text); return err == nil },
		func(text string) bool { _, err := strconv.ParseBool(text); return err == nil },
		func(text string) bool { return net.ParseIP(text) != nil && !strings.Contains(text, ":") },
		func(text string) bool { return net.ParseIP(text) != nil && strings.Contains(text, ":") },
		func(text string) bool { at, err := url.Parse(text); return err == nil && at.Host != "" },
	} {
		if is(a) && is(b) {
			return true
		}
	}
	return lastNumber.MatchString(a) && lastNumber.MatchString(b) && lastNumber.ReplaceAllString(a, "$1#$3") == lastNumber.ReplaceAllString(b, "$1#$3")
}

// otherTexts returns texts of the same sort as a text. It derives the sort from the text.
func otherTexts(name, text string) []string {
	lower := strings.ToLower(name)
	if isQuantity(text) {
		return otherQuantities(text, resource.MustParse(text))
	}
	if long, err := time.ParseDuration(text); err == nil {
		return []string{(2 * long).String()}
	}
	if yes, err := strconv.ParseBool(text); err == nil {
		return []string{strconv.FormatBool(!yes)}
	}
	if net.ParseIP(text) != nil && strings.Contains(text, ":") {
		return []string{"2001:db8::7", "192.0.2.7"}
	}
	if net.ParseIP(text) != nil {
		return []string{"192.0.2.7", "2001:db8::7"}
	}
	if strings.Contains(lower, "image") && imageWithTag.MatchString(text) {
		repository, tag := text[:strings.LastIndex(text, ":")], text[strings.LastIndex(text, ":"):]
		if part := lastNumber.FindStringSubmatch(tag); part != nil {
			return []string{repository + nextNumber(part, 1), repository + ":other"}
		}
		return []string{repository + ":other"}
	}
	if cron.MatchString(text) {
		if part := lastNumber.FindStringSubmatch(text); part != nil {
			by := -1 // the next number may be the first that is too large
			if part[2] == "0" || part[2] == "1" {
				by = 1
			}
			return []string{nextNumber(part, by)}
		}
		return []string{"7 1 * * *"}
	}
	if at, err := url.Parse(text); err == nil && at.Host != "" {
		at.Path += "/other"
		return []string{at.String()}
	}
	var others []string
	if part := lastNumber.FindStringSubmatch(text); part != nil {
		others = append(others, nextNumber(part, 1))
	}
	return append(others, text+"-other", text+"x")
}

// nextNumber returns a text with another last number. part is a match of lastNumber.
func nextNumber(part []string, by int) string {
	number, err := strconv.Atoi(part[2])
	if err != nil { // too long for a number
		return part[1] + part[2] + "0" + part[3]
	}
	return part[1] + strconv.Itoa(number+by) + part[3]
}

// isQuantity reports whether a text is a quantity. A plain decimal is none: it may be a version.
func isQuantity(text string) bool {
	_, err := resource.ParseQuantity(text)
	return err == nil && !plainDecimal.MatchString(text)
}

// otherQuantities returns twice the quantity, and before that the next number if the text is an integer. For zero, it
// returns only 1.
func otherQuantities(text string, quantity resource.Quantity) []string {
	double := quantity.DeepCopy()
	double.Add(quantity)
	if quantity.IsZero() {
		return []string{"1"}
	}
	others := []string{double.String()}
	if number, err := strconv.Atoi(text); err == nil {
		others = append([]string{strconv.Itoa(number + 1)}, others...)
	}
	return others
}
