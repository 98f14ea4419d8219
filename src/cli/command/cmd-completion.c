/*
 * shardsim completion: the script that completes command lines in a shell. It asks the program that
 * is typed (cmd-complete.c) and knows only what its shell wants to be told.
 */
#include "base/config/suggest.h"
#include "cli/argument/common.h"

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static const char *const scripts[] = {
  /* What readline completes, $2, begins at an open quote and, as bash has it, after '=' and ':'. */
  "# bash completion of shardsim: what 'shardsim completion bash' prints.\n"
  "_shardsim() {\n"
  "  local line=${COMP_LINE:0:COMP_POINT} typed=${2//\\\\/} lead option='' found\n"
  "  local before=${line%\"$2\"}\n"
  "  lead=${before##*[[:blank:]]} lead=${lead//[\\'\\\"]/}\n"
  "  [[ $2 == --*=* ]] && option=${2%%=*}=\n"
  "  COMPREPLY=()\n"
  "  while IFS=$'\\t' read -r found _; do\n"
  "    if [[ $found == :* ]]; then\n"
  "      compopt -o filenames 2>/dev/null\n"
  "      while IFS= read -r found; do COMPREPLY+=(\"$option$found\"); done < <(\n"
  "        compgen -A \"${found:1}\" -- \"${2#\"$option\"}\")\n"
  "    elif [[ $found == \"$lead$typed\"* ]]; then\n"
  "      found=${found#\"$lead\"}\n"
  "      [[ $before == *[\\'\\\"] ]] || printf -v found %q \"$found\"\n"
  "      COMPREPLY+=(\"$found\")\n"
  "    fi\n"
  "  done < <(\"${1/#~\\//$HOME/}\" complete -- \"${line#*[[:blank:]]}\" 2>/dev/null)\n"
  "  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null\n"
  "  return 0\n"
  "}\n"
  "complete -F _shardsim shardsim\n",
  "#compdef shardsim\n"
  "# zsh completion of shardsim: what 'shardsim completion zsh' prints.\n"
  "_shardsim() {\n"
  "  local found word none=1\n"
  "  local -a plain joined files\n"
  "  for found in ${(f)\"$(${~${(Q)words[1]}} complete -- \\\n"
  "    \"$words[2,CURRENT-1] $QIPREFIX$PREFIX\" 2>/dev/null)\"}; do\n"
  "    word=${found%%$'\\t'*}\n"
  "    found=${word//:/\\\\:}${${found#$word}/$'\\t'/:}\n"
  "    case $word in\n"
  "      :file) files=(_files) ;;\n"
  "      :directory) files=(_files -/) ;;\n"
  "      *[=:]) joined+=(\"$found\") ;;\n"
  "      *) plain+=(\"$found\") ;;\n"
  "    esac\n"
  "  done\n"
  "  _describe shardsim plain -- joined -S '' && none=0\n"
  "  compset -P '--*='\n"
  "  (( $#files )) && \"$files[@]\" && none=0\n"
  "  return none\n"
  "}\n"
  "# loaded by the completion system it runs at once, sourced it registers itself\n"
  "if [[ ${funcstack[1]-} == _shardsim ]]; then\n"
  "  _shardsim \"$@\"\n"
  "elif (( ${+functions[compdef]} )); then\n"
  "  compdef _shardsim shardsim\n"
  "fi\n",
  "# fish completion of shardsim: what 'shardsim completion fish' prints.\n"
  "function __shardsim_found\n"
  "    set -l program (string replace -r '^~/' \"$HOME/\" -- (commandline -opc)[1])\n"
  "    set -l line (commandline -cp | string collect)\n"
  "    for found in (command $program complete -- (string replace -r '^\\s*\\S+' '' -- $line) "
  "2>/dev/null)\n"
  "        switch $found\n"
  "            case :file\n"
  "                complete -C \"'' \"(commandline -ct | string collect)\n"
  "            case :directory\n"
  "                complete -C \"'' \"(commandline -ct | string collect) | string match '*/'\n"
  "            case '*'\n"
  "                echo $found\n"
  "        end\n"
  "    end\n"
  "end\n"
  "complete -c shardsim -f -a '(__shardsim_found)'\n",
};

static ExitStatus
run (Common *common, gpointer settings)
{
  const char      *word = common->files[0];
  const gint       shell = word != NULL ? name_index (word, shells) : -1;
  g_autofree char *hint = suggest_hint (word != NULL ? word : "", shells);

  (void) settings;
  if (shell >= 0)
    {
      g_autoptr (GString) script = g_string_new (scripts[shell]);

      return stream_print (script);
    }
  return word == NULL ? common_refuse (common, "which shell? %s\n", hint)
                      : common_refuse (common, "unknown shell '%s': %s\n", word, hint);
}

const Command command_completion = {
  .name = "completion",
  .help = "the script that completes command lines in a shell",
  .arguments = "bash | zsh | fish",
  .summary = "Prints the script that completes command lines in a shell: commands, their options, "
             "what these may be, names of profiles, models and strategies. An installed program "
             "has the scripts where the shells look for them.",
  .examples = "Examples:\n"
              "  source <(shardsim completion bash)\n"
              "  shardsim completion zsh >~/.zsh/functions/_shardsim\n"
              "  shardsim completion fish >~/.config/fish/completions/shardsim.fish\n",
  .most_words = 1,
  .run = run,
};
