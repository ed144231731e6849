// Where the PJRT plugins of this machine are: what `./dev plugin` unpacked, and what pip installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

// The folder that ./dev plugin unpacks into: $BERTRAIN_PLUGINS, else bertrain/plugins under
// $XDG_DATA_HOME or ~/.local/share; "" where none of them is set.
std::string plugin_folder();

// Paths where a plugin of a kind ("cpu", "gpu", "tpu") may be, in the order that they are looked
// at: the file that $BERTRAIN_CPU_PLUGIN (…_GPU_…, …_TPU_…) names, plugin_folder(), the
// site-packages of $VIRTUAL_ENV.
std::vector<std::string> plugin_places(std::string_view kind);

// The first of them that is a file; a usage error where the variable names none.
std::optional<std::string> find_plugin(std::string_view kind);

// The same; a usage error that lists the places and says how a plugin is fetched where there is
// none.
std::string require_plugin(std::string_view kind);

}  // namespace bertrain
