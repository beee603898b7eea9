package release_test

import (
	"testing"

	"github.com/operon-framework/operon/release"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	upgrades, not := true, false
	for _, test := range []struct {
		recorded       string
		upgrades, seen bool
		own            string
		want           release.Verdict
	}{
		{"", not, false, "1.0.0", release.Fresh},
		{"", not, true, "1.0.0", release.Older},
		{"1.0.0", upgrades, true, "1.0.0", release.Current},
		{"v1.0.0", upgrades, true, "1.0.0", release.Current},
		{"1.0.0", upgrades, true, "1.10.0", release.Older},
		{"1.9.0", not, true, "1.10.0", release.Older},
		{"1.10.0", upgrades, true, "1.9.0", release.Newer},
		{"1.10.0", not, true, "1.9.0", release.Current},
		{"1.0.0", upgrades, true, "1.0.0-rc.1", release.Newer},
		{"1.0.0-rc.1", upgrades, true, "1.0.0", release.Older},
		{"latest", upgrades, true, "1.0.0", release.Unreadable},
	} {
		record := release.Record{Version: test.recorded, Upgrades: test.upgrades, Seen: test.seen}
		if got := release.Judge(record, test.own); got != test.want {
			t.Errorf("%+v to %s is %s, want %s", record, test.own, got, test.want)
		}
	}
	for version, good := range map[string]bool{"1.4.0": true, "v1.4.0": true, "1.4": true, "v2.0.0-rc.1+x": true, "": false, "latest": false, "1.4.0.0": false} {
		if err := release.Check(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
	if !release.Before("", "0.0.1") || release.Before("1.0.0", "1.0.0") {
		t.Error("none is not before all, or a version before itself")
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("1.0.0", "2.0.0")
	f.Add("v1.0.0-rc.1", "x")
	f.Fuzz(func(t *testing.T, one, other string) {
		if release.Check(one) != nil || release.Check(other) != nil {
			return
		}
		if release.Before(one, other) && release.Before(other, one) {
			t.Errorf("%q and %q are each before the other", one, other)
		}
		record := release.Record{Version: one, Upgrades: true, Seen: true}
		if verdict := release.Judge(record, other); (verdict == release.Older) != release.Before(one, other) {
			t.Errorf("%q to %q is %s", one, other, verdict)
		}
	})
}
