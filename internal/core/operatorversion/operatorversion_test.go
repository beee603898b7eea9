package operatorversion_test

import (
	"testing"

	"github.com/operon-framework/operon/internal/core/operatorversion"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	upgrades, not := true, false
	for _, test := range []struct {
		recorded       string
		upgrades, seen bool
		own            string
		want           operatorversion.Verdict
	}{
		{"", not, false, "1.0.0", operatorversion.Fresh},
		{"", not, true, "1.0.0", operatorversion.Older},
		{"1.0.0", upgrades, true, "1.0.0", operatorversion.Current},
		{"v1.0.0", upgrades, true, "1.0.0", operatorversion.Current},
		{"1.0.0", upgrades, true, "1.10.0", operatorversion.Older},
		{"1.9.0", not, true, "1.10.0", operatorversion.Older},
		{"1.10.0", upgrades, true, "1.9.0", operatorversion.Newer},
		{"1.10.0", not, true, "1.9.0", operatorversion.Current},
		{"1.0.0", upgrades, true, "1.0.0-rc.1", operatorversion.Newer},
		{"1.0.0-rc.1", upgrades, true, "1.0.0", operatorversion.Older},
		{"latest", upgrades, true, "1.0.0", operatorversion.Unreadable},
	} {
		record := operatorversion.Record{Version: test.recorded, Upgrades: test.upgrades, Seen: test.seen}
		if got := operatorversion.Judge(record, test.own); got != test.want {
			t.Errorf("%+v to %s is %s, want %s", record, test.own, got, test.want)
		}
	}
	for version, good := range map[string]bool{"1.4.0": true, "v1.4.0": true, "1.4": true, "v2.0.0-rc.1+x": true, "": false, "latest": false, "1.4.0.0": false} {
		if err := operatorversion.Check(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
	if !operatorversion.Before("", "0.0.1") || operatorversion.Before("1.0.0", "1.0.0") {
		t.Error("none is not before all, or a version before itself")
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("1.0.0", "2.0.0")
	f.Add("v1.0.0-rc.1", "x")
	f.Fuzz(func(t *testing.T, one, other string) {
		if operatorversion.Check(one) != nil || operatorversion.Check(other) != nil {
			return
		}
		if operatorversion.Before(one, other) && operatorversion.Before(other, one) {
			t.Errorf("%q and %q are each before the other", one, other)
		}
		record := operatorversion.Record{Version: one, Upgrades: true, Seen: true}
		if verdict := operatorversion.Judge(record, other); (verdict == operatorversion.Older) != operatorversion.Before(one, other) {
			t.Errorf("%q to %q is %s", one, other, verdict)
		}
	})
}
