// Package flagerror describes an invalid flag in terms of the command line. The flag library reports an invalid value with
// the error of the function that parsed it: strconv.ParseInt and its argument.
package flagerror

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// wants describes the valid values of a flag, by the type of its value.
var wants = map[string]string{
	"bool": "true or false",
	"int":  "a whole number", "int32": "a whole number", "int64": "a whole number",
	"uint": "a whole number, not less than 0", "uint16": "a whole number from 0 to 65535", "uint64": "a whole number, not less than 0",
	"float64": "a number", "duration": "a duration such as 30s or 5m",
	"ip": "an IP address", "count": "a whole number",
}

// Reworded rewords an error of parsing flags if a value is invalid: it names the flag as it was written, and its valid
// values. It returns all other errors unchanged.
func Reworded(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	flag := wrong.GetFlag()
	want, known := wants[flag.Value.Type()]
	if !known {
		return fmt.Errorf("--%s=%s: %w", flag.Name, wrong.GetValue(), errors.Unwrap(wrong))
	}
	if errors.Is(err, strconv.ErrRange) {
		want += ", and a smaller one"
	}
	return fmt.Errorf("--%s=%s: want %s", flag.Name, wrong.GetValue(), want)
}
