/**
 * The application that shows the notification: only one that is registered may, and PowerShell is on every
 * Windows.
 */
const APPLICATION = "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe";

/**
 * Returns the arguments with which PowerShell shows a notification.
 *
 * The script contains the texts only as base64: PowerShell accepts several characters as a quotation mark, including
 * the curly ones, so no foreign text may be in a literal.
 */
export function toastArguments(title: string, text: string): readonly string[] {
  const script = [
    "$ErrorActionPreference = 'Stop'",
    "[Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime] > $null",
    "[Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom, ContentType = WindowsRuntime] > $null",
    "$type = [Windows.UI.Notifications.ToastTemplateType]::ToastText02",
    "$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($type)",
    "$lines = $xml.GetElementsByTagName('text')",
    `$lines.Item(0).AppendChild($xml.CreateTextNode(${literal(title)})) > $null`,
    `$lines.Item(1).AppendChild($xml.CreateTextNode(${literal(text)})) > $null`,
    "$toast = [Windows.UI.Notifications.ToastNotification]::new($xml)",
    `[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('${APPLICATION}').Show($toast)`,
  ].join("\n");
  return ["-NoProfile", "-NonInteractive", "-EncodedCommand", base64(script)];
}

function literal(text: string): string {
  return `([Text.Encoding]::Unicode.GetString([Convert]::FromBase64String('${base64(text)}')))`;
}

/** Base64 of UTF-16LE, which PowerShell calls Unicode. */
function base64(text: string): string {
  const bytes = new Uint8Array(text.length * 2);
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    bytes[2 * index] = code & 0xff;
    bytes[2 * index + 1] = code >> 8;
  }
  return bytes.toBase64();
}
