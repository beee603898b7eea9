// Package ship contains the code that delivers an operator to its users: images without a daemon, SBOMs, builds, and
// deployments in clusters.
//
// Its packages import the tools, lower layers and each other, but no packages for fault injection.
package ship
