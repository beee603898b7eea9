package instance

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

// contextName returns the name of a cluster, its user and its context in kubeconfigs.
func contextName(name string) string { return "operon-" + name }

// Merge adds a running cluster to the user's own kubeconfig as its current context, and returns the path of the file. Down
// removes it and restores the previous current context.
func Merge(name string) (string, error) {
	facts, err := Status(name)
	if err != nil {
		return "", err
	}
	ours, err := clientcmd.LoadFromFile(facts.Kubeconfig)
	if err != nil {
		return "", err
	}
	access := clientcmd.NewDefaultPathOptions()
	theirs, err := access.GetStartingConfig()
	if err != nil {
		return "", fmt.Errorf("the kubeconfig %s was not changed: %w", access.GetDefaultFilename(), err)
	}
	entry := contextName(name)
	if theirs.CurrentContext != entry {
		facts.MergedOver = theirs.CurrentContext
	}
	// An entry that has a file of origin would be written to that file.
	ours.Clusters[entry].LocationOfOrigin, ours.AuthInfos[entry].LocationOfOrigin, ours.Contexts[entry].LocationOfOrigin = "", "", ""
	theirs.Clusters[entry], theirs.AuthInfos[entry] = ours.Clusters[entry], ours.AuthInfos[entry]
	theirs.Contexts[entry], theirs.CurrentContext = ours.Contexts[entry], entry
	if err := clientcmd.ModifyConfig(access, *theirs, false); err != nil {
		return "", err
	}
	facts.MergedInto = access.GetDefaultFilename()
	f, err := openFolder(name)
	if err != nil {
		return "", err
	}
	return facts.MergedInto, f.writeFacts(facts)
}

// unmerge removes a cluster from the kubeconfig to which it was added. If its context is still current, the previous context
// becomes current again, unless the user has removed it in the meantime.
func unmerge(facts Facts, name string) error {
	config, err := clientcmd.LoadFromFile(facts.MergedInto)
	if err != nil {
		return fmt.Errorf("remove cluster %q from the kubeconfig: %w", name, err)
	}
	entry := contextName(name)
	delete(config.Clusters, entry)
	delete(config.AuthInfos, entry)
	delete(config.Contexts, entry)
	if config.CurrentContext == entry {
		config.CurrentContext = ""
		if config.Contexts[facts.MergedOver] != nil {
			config.CurrentContext = facts.MergedOver
		}
	}
	return clientcmd.WriteToFile(*config, facts.MergedInto)
}
