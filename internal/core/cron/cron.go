// Package cron parses the schedules of Actions like those of CronJobs, with the same library, and rejects surprising
// ones. Times are local times in a time zone: a time that a clock change skips is not due that day,
// and a time that it repeats is due twice, as with CronJobs.
package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule returns when something is next due after a time; zero means never.
type Schedule = cron.Schedule

// Parse reads a schedule: minute, hour, day, month and day of the week, or a macro such as @daily. zone is a
// name such as Europe/Berlin; empty means UTC.
func Parse(text, zone string) (Schedule, error) {
	if zone == "" {
		zone = "UTC"
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return nil, fmt.Errorf("unknown time zone %q; if the image has no time zone database, import time/tzdata in the operator", zone)
	}
	if strings.Contains(text, "TZ=") {
		return nil, fmt.Errorf("%q contains a time zone: use the field timeZone instead", text)
	}
	if strings.Contains(text, "@every") {
		return nil, fmt.Errorf("%q counts from the start of the operator: use fields instead, such as */10 * * * *", text)
	}
	schedule, err := cron.ParseStandard("CRON_TZ=" + zone + " " + strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%q: %w; want minute, hour, day, month and day of the week, or one of @hourly, @daily, @weekly, @monthly, @yearly", text, err)
	}
	if schedule.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("%q is never due", text)
	}
	return schedule, nil
}
