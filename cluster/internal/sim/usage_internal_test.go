package sim

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podUsing(annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}, {Name: "log"}}},
	}
}

func TestUsageIsWhatTheAnnotationsTell(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{ // of web and log
		"":                  "1m 1m",
		"250m":              "250m 250m",
		"web=2":             "2 1m",
		"10m, web=250m":     "250m 10m",
		"log=0,web=1500m":   "1500m 0",
		"web=250m,log=0.1 ": "250m 100m",
	} {
		annotations := map[string]string{UsageCPUAnnotation: value}
		if value == "" {
			annotations = nil
		}
		var got []string
		for _, container := range []string{"web", "log"} {
			usage, known := Usage(podUsing(annotations), container)
			if !known || usage.Memory().String() != "1Mi" {
				t.Errorf("%q: %s uses %v", value, container, usage)
			}
			got = append(got, usage.Cpu().String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: the containers use %q, want %q", value, got, want)
		}
	}
}

func TestUsageThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":       `annotation sim.operon.dev/usage-memory: "" is not an amount; use one such as 250m or 64Mi`,
		"lots":   `"lots" is not an amount`,
		"-1Mi":   `"-1Mi" is not an amount`,
		"10Mi,":  `"" is not an amount`,
		"wep=1M": `the pod has no container "wep"; it has web, log`,
	} {
		pod := podUsing(map[string]string{UsageMemoryAnnotation: value})
		if _, err := readWish(pod); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", value, err, want)
		}
		if usage, known := Usage(pod, "web"); known {
			t.Errorf("%q: the pod uses %v", value, usage)
		}
	}
}

// The usage of a pod on a node that does not respond is unknown.
func TestUsageOfAPodThatIsCutOff(t *testing.T) {
	t.Parallel()
	if usage, known := Usage(podUsing(map[string]string{FailAnnotation: FailLost}), "web"); known {
		t.Errorf("it uses %v", usage)
	}
}
