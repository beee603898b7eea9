// Package manifest contains the lint rules for manifests: CustomResourceDefinitions, Roles, samples, webhooks and the Deployment of the
// operator. They use the API server's own libraries, and compare Roles with the code.
//
// Rules lists them all.
package manifest

import "github.com/operon-framework/operon/internal/tools/doctor/rule"

// Rules lists all rules for manifests.
var Rules = []*rule.Rule{
	rbacWildcard, rbacSecrets, rbacEscalate, rbacExec, rbacUnused,
	crdInvalid, crdUnsafe, statusSubresource, statusConditions, observedGeneration, conditionsMap,
	numberBounds, mapKeyLength, rulesUnbounded, phaseEnum, fieldDescription, printerColumns, shortName,
	sampleInvalid,
	webhookBroad, webhookTimeout,
	deployLimits, deployRoot, deployProbes, deployLatest, deployElection,
}
