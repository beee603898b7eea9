// Package chart publishes Helm charts: it packages them with provenance, lists them in the index of a chart repository, and pushes them
// to registries. Helm reads the results.
//
//	made, err := chart.Package(chart.PackageOptions{Dir: "chart", Version: "1.2.0", To: "dist"})
//	listed, err := chart.WriteIndex(chart.IndexOptions{Dir: "dist", URL: "https://charts.example.com"})
//	pushed, err := chart.Push(ctx, made.File, "oci://registry.example.com/charts", tell)
package chart
