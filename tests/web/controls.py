"""What users do on the page, and what it shows, as expressions for browser.py."""

import json
import os
import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
READY = (
    "!document.querySelector('#answer.busy') && document.querySelector('#headline .card') !== null"
)
PICTURES = os.environ.get("SHARDSIM_WEB_PICTURES")  # a folder for what is to be looked at
SUMMARY = "document.getElementById('summary').textContent"


def setting(key, value):
    """Sets the field of KEY as a user does, and waits for nothing."""
    return f"""(() => {{
      const box = document.querySelector('[data-key="{key}"]');
      const input = box.querySelector('select, input');
      input.value = '{value}';
      input.dispatchEvent(new Event('change', {{ bubbles: true }}));
      return true;
    }})()"""


def pressing(text):
    return f"[...document.querySelectorAll('button')].find(b => b.textContent === '{text}').click()"


def field_of(panel, label):
    """The field of LABEL in a panel."""
    return (
        f"[...document.querySelectorAll('#panel-{panel} .field')]"
        f".find(e => e.querySelector('.name').textContent === '{label}')"
    )


def setting_of(panel, label, value):
    return f"{field_of(panel, label)}.querySelector('input, select').value = '{value}'"


def uploading(name, text):
    """Chooses a file of that name for the page's upload."""
    return f"""(() => {{
      const files = new DataTransfer(), input = document.getElementById('file');
      files.items.add(new File([{json.dumps(text)}], '{name}'));
      input.files = files.files;
      input.dispatchEvent(new Event('change'));
    }})()"""


def dropping(name, text):
    """Drops a file of that name on the page."""
    return f"""(() => {{
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([{json.dumps(text)}], '{name}'));
      document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer, bubbles: true }}));
    }})()"""


def pasting(text):
    """Pastes that outside of all fields."""
    return f"""(() => {{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', {json.dumps(text)});
      document.body.dispatchEvent(new ClipboardEvent('paste', {{ clipboardData, bubbles: true }}));
    }})()"""


def touching(number, value):
    """Presses, or sets to VALUE, one of all controls."""
    return f"""(() => {{
      const all = [...document.querySelectorAll('#form select, #form input, #remedies button,'
        + ' #tools button, #found button, #panel-timeline button,'
        + ' #pin, #pinned button, summary')].filter(
        e => e.type !== 'file' && !e.disabled);
      const one = all[{number} % all.length];
      if (one.matches('button, summary')) {{ one.click(); return; }}
      if (one.matches('select')) one.selectedIndex = {number} % one.options.length;
      else one.value = {json.dumps(value)};
      one.dispatchEvent(new Event(one.type === 'range' ? 'input' : 'change', {{ bubbles: true }}));
    }})()"""
