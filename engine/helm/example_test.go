package helm_test

import (
	"fmt"

	"github.com/operon-framework/operon/engine/helm"
)

func ExampleLoad() {
	chart, err := helm.Load("testdata/till/helm-charts/till")
	fmt.Println(chart.Name(), err)

	_, err = helm.Load("testdata/till")
	fmt.Println(err)
	// Output:
	// till <nil>
	// load the chart testdata/till: the directory has no Chart.yaml: name the directory of a chart, or an archive made by helm package
}
