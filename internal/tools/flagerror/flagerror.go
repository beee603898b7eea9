// Package flagerror describes an invalid flag in the words of the command line. The library of flags tells of a value
// in those of the function that read it: strconv.ParseInt, and what it was given.
package flagerror

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// wants are what a flag takes, by the type of its value.
var wants = map[string]string{
	"bool": "true or false",
	"int":  "a whole number", "int32": "a whole number", "int64": "a whole number",
	"uint": "a whole number, not less than 0", "uint16": "a whole number from 0 to 65535", "uint64": "a whole number, not less than 0",
	"float64": "a number", "duration": "a duration such as 30s or 5m",
	"ip": "an IP address", "count": "a whole number",
}

// Reworded is an error of parsing flags, said again where a value is wrong: the flag as it was written, and what it takes.
// All other errors stay as they are.
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
